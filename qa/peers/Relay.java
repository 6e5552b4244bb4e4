import java.io.InputStream;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.net.Socket;

/**
 * A JVM that an agent's connection comes from: what connects to the port that it prints reaches the collector at HOST:PORT by a
 * socket of its own. "gc" on standard input is a collection; it ends with standard input.
 */
public class Relay {
    public static void main(String[] arguments) throws Exception {
        String[] to = arguments[0].split(":");
        ServerSocket door = new ServerSocket(0);
        start(() -> {
            while (true) {
                Socket agent = door.accept();
                Socket collector = new Socket(to[0], Integer.parseInt(to[1]));
                start(() -> pass(agent, collector));
                start(() -> pass(collector, agent));
            }
        });
        System.out.println("ready " + door.getLocalPort());
        for (int next; (next = System.in.read()) >= 0;) {
            if (next == '\n') {
                System.gc();
                System.out.println("done");
            }
        }
        System.exit(0);
    }

    static void pass(Socket from, Socket to) throws Exception {
        byte[] bytes = new byte[65536];
        InputStream in = from.getInputStream();
        OutputStream out = to.getOutputStream();
        for (int n; (n = in.read(bytes)) > 0;) {
            out.write(bytes, 0, n);
        }
        to.shutdownOutput();
    }

    interface Work {
        void run() throws Exception;
    }

    static void start(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (Exception e) {
                // The connection has ended.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }
}
