package io.github.reactorratelimit.benchmarks.local;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.lang.ref.Reference;

/** Measures what the states of many keys keep on the heap; the main class of a JVM that does nothing else. */
final class MemoryProbe {

    private static final int COLLECTIONS = 3;

    private MemoryProbe() {}

    /** Prints the bytes per key of the contender and the number of keys given. */
    public static void main(String[] arguments) {
        System.out.println(bytesPerKey(arguments[0], Integer.parseInt(arguments[1])));
        System.exit(0);
    }

    static double bytesPerKey(String contender, int keys) {
        String[] all = KeyDraws.keys(keys);
        loadClasses(contender);
        long before = usedBytes();
        ManyKeys states = MemoryStates.of(contender, keys);
        try {
            for (String key : all) {
                if (!states.ask(key)) {
                    throw new IllegalStateException(contender + " denied");
                }
            }
            return (usedBytes() - before) / (double) keys;
        } finally {
            Reference.reachabilityFence(states);
            Reference.reachabilityFence(all);
        }
    }

    private static void loadClasses(String contender) {
        MemoryStates.of(contender, 16).ask("any");
    }

    private static long usedBytes() {
        MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
        for (int i = 0; i < COLLECTIONS; i++) {
            memory.gc();
        }
        return memory.getHeapMemoryUsage().getUsed();
    }
}
