/** Works for some seconds as its standard input says: each line is a number of rounds, after which it says what it did. */
public class Churn {
    static volatile Object kept;

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
            System.out.println("done");
        }
    }
}
