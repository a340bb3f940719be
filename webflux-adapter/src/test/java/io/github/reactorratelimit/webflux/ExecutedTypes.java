package io.github.reactorratelimit.webflux;

import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;

/** Collects the names of the types whose code runs; {@link RequestPathTest} calls it at the start of each method. */
public final class ExecutedTypes {

    private static final Set<String> EXECUTED = new ConcurrentSkipListSet<>();

    private ExecutedTypes() {}

    /** Code of this type runs. */
    public static void add(String type) {
        EXECUTED.add(type);
    }

    static void clear() {
        EXECUTED.clear();
    }

    static Set<String> names() {
        return Set.copyOf(EXECUTED);
    }
}
