import java.util.concurrent.CountDownLatch;

/** What qa/141 asks for: a thread that works, one that throws, two that wait for each other's monitor, two for ever. */
public class Asked {
    static volatile long sink;
    static volatile byte[] garbage;
    static final Object LOCK = new Object();

    static class Order {
        final long[] lines = new long[100];
    }

    static final Order[] ORDERS = new Order[5000];

    static void work() {
        long sum = 0;
        for (long i = 0; i < 1_000_000; i++) {
            sum += i * 31 ^ sum >> 3;
        }
        sink += sum;
        garbage = new byte[1 << 20];
    }

    static void busy() {
        while (true) {
            work();
        }
    }

    static void pause(int ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new RuntimeException(e);
        }
    }

    static void throwing() {
        while (true) {
            pause(20);
            try {
                throw new IllegalStateException("no stock");
            } catch (IllegalStateException e) {
                sink++;
            }
        }
    }

    static void locking() {
        while (true) {
            synchronized (LOCK) {
                pause(30);
            }
            pause(5);
        }
    }

    static void take(Object one, Object other, CountDownLatch both) {
        synchronized (one) {
            both.countDown();
            try {
                both.await();
            } catch (InterruptedException e) {
                throw new RuntimeException(e);
            }
            synchronized (other) {
                sink++;
            }
        }
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < ORDERS.length; i++) {
            ORDERS[i] = new Order();
        }
        Object a = new Object(), b = new Object();
        new Thread(Asked::busy, "busy").start();
        new Thread(Asked::throwing, "throwing").start();
        new Thread(Asked::locking, "lock-1").start();
        new Thread(Asked::locking, "lock-2").start();
        CountDownLatch both = new CountDownLatch(2);
        Thread[] dead = {new Thread(() -> take(a, b, both), "dead-1"), new Thread(() -> take(b, a, both), "dead-2")};
        for (Thread thread : dead) {
            thread.start();
        }
        for (Thread thread : dead) {
            while (thread.getState() != Thread.State.BLOCKED) {
                pause(10);
            }
        }
        System.out.println("ready");
    }
}
