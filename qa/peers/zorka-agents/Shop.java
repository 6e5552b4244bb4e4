// A program with known numbers of spans, exceptions and statements, for Zorka agents (shop.bsh).
// Arguments are NAME=VALUE:
//   threads rounds   each thread places so many orders
//   gap              ms between two of them
//   pause            us in each step of an order
//   jobs             so many spans of one short method, per thread, after the orders
//   sql=1            an item is looked up in an H2 database in memory
//   web=N            instead of orders: N HTTP requests per thread to a Jetty server within
//   counts           file that the numbers are written to when all is done
//   stop end         files: when they exist, no further order is placed; the program ends
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

public class Shop {
    static final String DATABASE = "jdbc:h2:mem:shop;DB_CLOSE_DELAY=-1";
    static final Map<String, String> ARGUMENTS = new HashMap<>();
    static final Map<String, AtomicLong> COUNTS = new TreeMap<>();

    static {
        for (String name : new String[] {"order", "refused", "item", "unread", "job", "statement", "request"}) {
            COUNTS.put(name, new AtomicLong());
        }
    }

    static void count(String name) {
        COUNTS.get(name).incrementAndGet();
    }

    static int number(String name, int otherwise) {
        String value = ARGUMENTS.get(name);
        return value == null ? otherwise : Integer.parseInt(value);
    }

    static Path file(String name) {
        return Paths.get(ARGUMENTS.getOrDefault(name, "/nonexistent"));
    }

    static void sleep(int milliseconds) {
        LockSupport.parkNanos(milliseconds * 1_000_000L);
    }

    /** Its public methods are what agents trace. */
    public static class Work {
        public static class Refused extends RuntimeException {
            Refused(String message) {
                super(message);
            }
        }

        private final Connection database;
        private final long pause = number("pause", 300) * 1000L;

        Work(Connection database) {
            this.database = database;
        }

        /** A span; every second has another one within, every fifth fails. */
        public void order(int n) {
            price(n % 7);
            if (n % 2 == 0) {
                item(n);
            }
            if (n % 5 == 4) {
                refuse(n);
            }
        }

        /** A span within that of the order. */
        public void item(int n) {
            count("item");
            step();
            if (n % 6 == 2) {
                try {
                    parse("x" + n);
                } catch (NumberFormatException e) {
                    count("unread");
                }
            }
            if (database != null) {
                lookUp(database, n);
            }
        }

        /** A span of one record. */
        public void job(int n) {
        }

        public int price(int n) {
            step();
            return fibonacci(n);
        }

        public int fibonacci(int n) {
            return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
        }

        public int parse(String text) {
            return Integer.parseInt(text);
        }

        public void refuse(int n) {
            throw new Refused("order " + n + ": no żurek");
        }

        private void step() {
            LockSupport.parkNanos(pause);
        }
    }

    static void lookUp(Connection database, int n) {
        count("statement");
        try (Statement statement = database.createStatement()) {
            statement.executeQuery("select name from item where id = " + n + " and name <> 'n" + n + "'").close();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    static void work(Connection database) {
        Work work = new Work(database);
        for (int n = 0; n < number("rounds", 0) && !Files.exists(file("stop")); n++) {
            count("order");
            try {
                work.order(n);
            } catch (Work.Refused e) {
                count("refused");
            }
            sleep(number("gap", 0));
        }
        for (int n = 0; n < number("jobs", 0); n++) {
            count("job");
            work.job(n);
        }
    }

    static void browse(int port) {
        for (int n = 0; n < number("web", 0); n++) {
            String path = n % 10 == 3 ? "/fail" : n % 10 == 7 ? "/none" : "/item?id=" + n;
            count("request");
            try (Socket socket = new Socket("127.0.0.1", port)) {
                String request = "GET " + path + " HTTP/1.1\r\nHost: shop\r\nCookie: secret=" + n + "\r\nConnection: close\r\n\r\n";
                socket.getOutputStream().write(request.getBytes());
                InputStream answer = socket.getInputStream();
                while (answer.read() >= 0) {
                }
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
            sleep(number("gap", 0));
        }
    }

    public static void main(String[] arguments) throws Exception {
        for (String argument : arguments) {
            ARGUMENTS.put(argument.substring(0, argument.indexOf('=')), argument.substring(argument.indexOf('=') + 1));
        }
        boolean sql = number("sql", 0) == 1;
        if (sql) {
            count("statement");
            try (Statement statement = DriverManager.getConnection(DATABASE).createStatement()) {
                statement.execute("create table item(id int primary key, name varchar(40))");
            }
        }
        int port = number("web", 0) > 0 ? (Integer) Class.forName("ShopWeb").getMethod("start", boolean.class).invoke(null, sql) : 0;
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < number("threads", 1); i++) {
            Connection database = sql ? DriverManager.getConnection(DATABASE) : null;
            threads.add(new Thread(() -> {
                if (port == 0) {
                    work(database);
                } else {
                    browse(port);
                }
            }));
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        Path partial = Paths.get(ARGUMENTS.get("counts") + ".part");
        Files.write(partial, COUNTS.toString().getBytes());
        Files.move(partial, file("counts"));
        while (!Files.exists(file("end"))) {
            sleep(50);
        }
        System.exit(0);
    }
}
