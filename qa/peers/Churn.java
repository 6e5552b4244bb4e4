import java.lang.management.ManagementFactory;

/** Works for some seconds as its standard input says: each line is a number of rounds, after which it says what its beans say. */
public class Churn {
    static volatile Object kept;

    /** Collections, classes that were loaded, threads that were started. */
    static String figures() {
        long collections = 0;
        for (var bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            collections += bean.getCollectionCount();
        }
        return collections + " " + ManagementFactory.getClassLoadingMXBean().getTotalLoadedClassCount() + " "
            + ManagementFactory.getThreadMXBean().getTotalStartedThreadCount();
    }

    public static void main(String[] arguments) throws Exception {
        java.util.Scanner in = new java.util.Scanner(System.in);
        System.out.println("ready");
        while (in.hasNextInt()) {
            for (int rounds = in.nextInt(); rounds > 0; rounds--) {
                for (int i = 0; i < 1000; i++) {
                    kept = new byte[10_000];
                }
                Thread thread = new Thread(() -> {});
                thread.start();
                thread.join();
            }
            System.gc();
            System.out.println("done " + figures());
        }
    }
}
