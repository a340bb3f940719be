package io.github.reactorratelimit.benchmarks.local;

import io.github.reactorratelimit.benchmarks.BenchmarkGroup;
import io.github.reactorratelimit.benchmarks.report.Better;
import io.github.reactorratelimit.benchmarks.report.Contender;
import io.github.reactorratelimit.benchmarks.report.Goal;
import io.github.reactorratelimit.benchmarks.report.Group;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** One key, allowed and denied, on one and two threads. */
final class OneKeyGroups {

    private static final String NOTE =
            "`RateLimiter.tryAcquireNow(key, 1)`, look-up by key included; the peers have their"
                    + " limiter in hand. Time is per decision and thread.";

    private OneKeyGroups() {}

    static List<BenchmarkGroup> all() {
        return List.of(
                allowed(
                        1,
                        List.of(
                                Goal.contender(Names.OURS, Names.CLOCK_CAS, 1.1),
                                Goal.bestPeer(Names.OURS, 1),
                                Goal.bytes(Names.OURS, 0))),
                allowed(2, List.of(Goal.bestPeer(Names.OURS, 0.5), Goal.bytes(Names.OURS, 0))),
                denied(1, List.of(Goal.contender(Names.OURS, Names.CLOCK_READ, 1.1), Goal.bytes(Names.OURS, 0))),
                denied(
                        2,
                        List.of(
                                Goal.contender(Names.OURS, Names.CLOCK_READ, 1.1),
                                Goal.bestPeer(Names.OURS, 0.6),
                                Goal.bytes(Names.OURS, 0))));
    }

    private static BenchmarkGroup allowed(int threads, List<Goal> goals) {
        return group("allowed", threads, goals, Names.CLOCK_CAS);
    }

    private static BenchmarkGroup denied(int threads, List<Goal> goals) {
        return group("denied", threads, goals, Names.CLOCK_READ);
    }

    private static BenchmarkGroup group(String outcome, int threads, List<Goal> goals, String floor) {
        List<Contender> contenders = new ArrayList<>();
        contenders.add(Contender.ours(Names.OURS));
        contenders.add(Contender.ours(Names.OURS_GCRA));
        if (outcome.equals("allowed")) {
            contenders.add(Contender.ours(Names.OURS_SMALL));
        }
        contenders.add(Contender.floor(floor));
        contenders.add(Contender.floor(Names.CLOCK));
        for (String peer :
                List.of(Names.BUCKET4J, Names.BUCKET4J_NANOS, Names.RESILIENCE4J, Names.GUAVA, Names.FAILSAFE)) {
            contenders.add(Contender.peer(peer));
        }
        Group group = new Group(
                "one-key-" + outcome + "-" + threads,
                "One key, " + outcome + ", " + (threads == 1 ? "1 thread" : threads + " threads"),
                "ns/op",
                Better.LESS,
                contenders,
                goals,
                NOTE);
        Map<String, String> parameters = Map.of("allowed", Boolean.toString(outcome.equals("allowed")));
        return new JmhGroup(group, OneKeyBenchmark.class, threads, parameters, 0);
    }
}
