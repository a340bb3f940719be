package io.github.reactorratelimit.examples.playground.cluster;

import io.github.reactorratelimit.testing.Await;
import java.util.Set;
import java.util.stream.Collectors;

/** The servers that this JVM has started and that run, as the operating system sees them. */
final class RedisProcesses {

    private RedisProcesses() {}

    static Set<Long> running() {
        return ProcessHandle.current()
                .children()
                .filter(child -> child.info().command().orElse("").endsWith("redis-server"))
                .map(ProcessHandle::pid)
                .collect(Collectors.toSet());
    }

    static void awaitNone() {
        Await.until("no server is left", () -> running().isEmpty());
    }
}
