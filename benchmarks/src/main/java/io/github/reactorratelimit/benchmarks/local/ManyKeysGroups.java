package io.github.reactorratelimit.benchmarks.local;

import io.github.reactorratelimit.benchmarks.BenchmarkGroup;
import io.github.reactorratelimit.benchmarks.report.Better;
import io.github.reactorratelimit.benchmarks.report.Contender;
import io.github.reactorratelimit.benchmarks.report.Goal;
import io.github.reactorratelimit.benchmarks.report.Group;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A million keys, and how the cost grows with their number. */
final class ManyKeysGroups {

    private static final int MILLION = 1_000_000;

    private ManyKeysGroups() {}

    static List<BenchmarkGroup> all() {
        return List.of(
                million("zipf", "Zipf", 1),
                million("zipf", "Zipf", 2),
                million("uniform", "uniform", 1),
                million("uniform", "uniform", 2));
    }

    private static BenchmarkGroup million(String distribution, String called, int threads) {
        String guava = Names.GUAVA + Names.IN_A_MAP;
        Group group = new Group(
                "many-keys-" + distribution + "-" + threads,
                "10^6 keys, " + called + ", allowed, " + (threads == 1 ? "1 thread" : threads + " threads"),
                "ns/op",
                Better.LESS,
                List.of(
                        Contender.ours(Names.OURS),
                        Contender.floor(Names.CLOCK_CAS + Names.IN_A_MAP),
                        Contender.peer(guava),
                        Contender.peer(Names.BUCKET4J + Names.IN_A_MAP),
                        Contender.peer(Names.RESILIENCE4J + Names.IN_A_MAP)),
                List.of(Goal.contender(Names.OURS, guava, 0.5), Goal.bytes(Names.OURS, 0)),
                "Every key is known when it starts, and ours may forget none of them. CHM is a `ConcurrentHashMap` with a"
                        + " limiter per key, which nothing ever leaves. Time is per decision and thread.");
        return new JmhGroup(group, ManyKeysBenchmark.class, threads, Map.of("distribution", distribution), MILLION);
    }

    /** Ours and the floor, from a thousand keys on. */
    static Group growth() {
        List<Contender> points = new ArrayList<>();
        for (Contender line : List.of(Contender.ours(Names.OURS), Contender.floor(Names.CLOCK_CAS + Names.IN_A_MAP))) {
            for (int exponent = 3; exponent <= 7; exponent++) {
                points.add(line.at(Math.pow(10, exponent), "10^" + exponent + " keys"));
            }
        }
        return new Group(
                "growth-keys",
                "Cost of a decision as the number of keys grows",
                "ns/op",
                Better.LESS,
                points,
                List.of(),
                "Uniform draws, 1 thread. What grows is the share of keys that are not in the processor's caches.");
    }
}
