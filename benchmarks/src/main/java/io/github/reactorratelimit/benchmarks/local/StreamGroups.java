package io.github.reactorratelimit.benchmarks.local;

import io.github.reactorratelimit.benchmarks.BenchmarkGroup;
import io.github.reactorratelimit.benchmarks.report.Better;
import io.github.reactorratelimit.benchmarks.report.Contender;
import io.github.reactorratelimit.benchmarks.report.Goal;
import io.github.reactorratelimit.benchmarks.report.Group;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** What a limit adds to a Flux and to a Mono. */
final class StreamGroups {

    private static final String CAS_IN_HANDLE = Names.CLOCK_CAS + FluxCase.IN_HANDLE;

    private StreamGroups() {}

    static List<BenchmarkGroup> all() {
        return List.of(
                new JmhGroup(synchronous(), FluxBenchmark.class, 1, Map.of(), 0),
                new JmhGroup(asynchronous(), AsyncFluxBenchmark.class, 1, Map.of(), 0),
                new JmhGroup(monoAllowed(), MonoBenchmark.class, 1, Map.of("allowed", "true"), 0),
                new JmhGroup(monoDenied(), MonoBenchmark.class, 1, Map.of("allowed", "false"), 0));
    }

    private static Group synchronous() {
        List<Contender> contenders = new ArrayList<>();
        contenders.add(Contender.ours(Names.OURS));
        contenders.add(Contender.floor(FluxCase.MAP));
        contenders.add(Contender.floor(FluxCase.BARE));
        contenders.add(Contender.floor(CAS_IN_HANDLE));
        contenders.addAll(peersInHandle());
        contenders.add(Contender.peer(FluxCase.OPERATOR));
        return group(
                "flux-sync",
                "Flux, per element, synchronous source, allowed",
                contenders,
                List.of(
                        Goal.value(Names.OURS, 10),
                        Goal.bestPeer(Names.OURS, 0.25),
                        Goal.extraBytes(Names.OURS, FluxCase.MAP, 0)),
                "`Flux.range(0, 1000)`; the bytes are those of its boxed integers. Resilience4j's operator takes a permit per"
                        + " subscription: with one per element it is inside `concatMap`.");
    }

    private static Group asynchronous() {
        List<Contender> contenders = new ArrayList<>();
        contenders.add(Contender.ours(Names.OURS));
        contenders.add(Contender.ours(Names.OURS_SMALL));
        contenders.add(Contender.floor(CAS_IN_HANDLE));
        contenders.add(Contender.floor(FluxCase.MAP));
        contenders.addAll(peersInHandle());
        return group(
                "flux-async",
                "Flux, per element, asynchronous source, allowed",
                contenders,
                List.of(Goal.contender(Names.OURS, CAS_IN_HANDLE, 1.1)),
                "The source emits one by one, outside `request`: no elements that could be taken together.");
    }

    private static List<Contender> peersInHandle() {
        return List.of(
                Contender.peer(Names.BUCKET4J + FluxCase.IN_HANDLE),
                Contender.peer(Names.RESILIENCE4J + FluxCase.IN_HANDLE),
                Contender.peer(Names.GUAVA + FluxCase.IN_HANDLE));
    }

    private static Group monoAllowed() {
        return group(
                "mono-allowed",
                "Mono, per call, allowed",
                List.of(
                        Contender.ours(Names.OURS),
                        Contender.ours(Names.OURS_SMALL),
                        Contender.ours(MonoCall.OURS_PER_CALL),
                        Contender.floor(MonoCall.FLOOR),
                        Contender.floor(MonoCall.BARE),
                        Contender.peer(MonoCall.OPERATOR),
                        Contender.peer(Names.BUCKET4J + MonoCall.IN_DEFER),
                        Contender.peer(Names.GUAVA + MonoCall.IN_DEFER)),
                List.of(Goal.contender(Names.OURS, MonoCall.FLOOR, 1.1), Goal.bytes(Names.OURS, 96)),
                "A subscription to `Mono.just(1)` behind the limit, its subscriber included. The Mono is assembled once, where"
                        + " not said otherwise. The least operator reads the clock, takes by one CAS, and subscribes.");
    }

    private static Group monoDenied() {
        return group(
                "mono-denied",
                "Mono, per call, denied, error signalled",
                List.of(
                        Contender.ours(Names.OURS),
                        Contender.floor(MonoCall.FLOOR),
                        Contender.peer(MonoCall.OPERATOR_STACKLESS),
                        Contender.peer(Names.BUCKET4J + MonoCall.IN_DEFER_STACKLESS),
                        Contender.peer(Names.GUAVA + MonoCall.IN_DEFER_STACKLESS),
                        Contender.peer(MonoCall.OPERATOR),
                        Contender.peer(Names.BUCKET4J + MonoCall.IN_DEFER)),
                List.of(Goal.contender(Names.OURS, MonoCall.FLOOR, 1.3)),
                "Resilience4j's exception has a stack trace unless configured otherwise; Bucket4j and Guava leave the error to"
                        + " the user, here with and without one.");
    }

    private static Group group(String id, String title, List<Contender> contenders, List<Goal> goals, String note) {
        return new Group(id, title, "ns/op", Better.LESS, contenders, goals, note);
    }
}
