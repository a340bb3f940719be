package io.github.reactorratelimit.benchmarks.redis;

import io.github.reactorratelimit.benchmarks.BenchmarkGroup;
import io.github.reactorratelimit.benchmarks.report.Better;
import io.github.reactorratelimit.benchmarks.report.Goal;
import io.github.reactorratelimit.benchmarks.report.Group;
import java.util.ArrayList;
import java.util.List;

/** Every group that asks a Redis server. */
public final class RedisGroups {

    private static final String P99 = LoadResult.P99;
    private static final String COALESCED = Entrant.COALESCED.name();
    private static final String LEASED = Entrant.LEASED.name();
    private static final String ON_CONNECTION = Entrant.ON_CONNECTION.name();
    private static final String ONE_CALL_EACH = Entrant.ONE_CALL_EACH.name();
    private static final String SCRIPT = Entrant.SCRIPT.name();
    private static final int MANY = 100_000;

    private static final String LOAD =
            "A fixed number of asks is in flight: each is asked again when it is answered, on the thread that answers. Server and"
                    + " client share the machine. Bytes are those that all threads of the client allocate per decision.";
    private static final String ON_THE_CONNECTION =
            " Peers and floors answer on the thread of their connection; of ours only the one that says so does, an option for subscribers"
                    + " that never block.";
    private static final String DELAYING =
            " Bucket4j delaying takes up to 1 000 tokens and up to 1 s before it asks Redis, and over-admits: see the group"
                    + " `redis-bound`.";

    private RedisGroups() {}

    /** All of them, in the order of the report. */
    public static List<BenchmarkGroup> all() {
        return List.of(
                hot(
                        512,
                        Goal.bestPeer(COALESCED, 2),
                        Goal.bestPeer(ON_CONNECTION, 2),
                        Goal.bestPeer(LEASED, 4),
                        Goal.detailOfBestPeer(COALESCED, P99, 1),
                        Goal.detailOfBestPeer(LEASED, P99, 1)),
                hot(
                        64,
                        Goal.contender(COALESCED, Entrant.BATCHING.name(), 2.5),
                        Goal.contender(ON_CONNECTION, Entrant.BATCHING.name(), 2.5),
                        Goal.contender(LEASED, Entrant.DELAYING.name(), 1.5)),
                hot(
                        1,
                        Goal.contender(COALESCED, SCRIPT, 0.97),
                        Goal.contender(ON_CONNECTION, SCRIPT, 0.97),
                        Goal.contender(LEASED, Entrant.DELAYING.name(), 1.5)),
                many(64),
                many(512),
                deniedHot(),
                deniedMany(),
                bound());
    }

    private static BenchmarkGroup hot(int inFlight, Goal... goals) {
        return throughput(
                "redis-hot-" + inFlight,
                "Redis, one hot key, " + inFlight + " in flight, allowed",
                entrants(Entrant.COALESCED, Entrant.ON_CONNECTION, Entrant.LEASED),
                List.of(goals),
                LOAD + ON_THE_CONNECTION + DELAYING,
                Steady.allowed(inFlight, 1));
    }

    private static BenchmarkGroup many(int inFlight) {
        return throughput(
                "redis-many-" + inFlight,
                "Redis, 100 000 keys, " + inFlight + " in flight, allowed",
                entrants(Entrant.COALESCED, Entrant.ON_CONNECTION, Entrant.LEASED, Entrant.ONE_CALL_EACH),
                List.of(
                        Goal.bestPeer(COALESCED, 3),
                        Goal.bestPeer(ON_CONNECTION, 3),
                        Goal.contender(ONE_CALL_EACH, SCRIPT, 0.95),
                        Goal.bytesOf(ONE_CALL_EACH, SCRIPT, 1.1)),
                LOAD + ON_THE_CONNECTION + " Keys are drawn uniformly." + DELAYING,
                Steady.allowed(inFlight, MANY));
    }

    private static BenchmarkGroup deniedHot() {
        return throughput(
                "redis-denied-hot",
                "Redis, one hot key, 512 in flight, 90 % denied",
                entrants(Entrant.COALESCED, Entrant.LEASED),
                List.of(Goal.bestPeer(LEASED, 2)),
                LOAD + " The limit of each contender is a tenth of what it is asked, found by trying before each round."
                        + DELAYING,
                new MostlyDenied(512));
    }

    private static BenchmarkGroup deniedMany() {
        return throughput(
                "redis-denied-many",
                "Redis, 100 000 keys, 512 in flight, 90 % denied",
                entrants(Entrant.COALESCED, Entrant.LEASED),
                List.of(Goal.contender(COALESCED, SCRIPT, 5)),
                LOAD + " Keys are drawn uniformly; nine of ten have nothing left." + DELAYING,
                Steady.mostDrained(512, MANY));
    }

    private static BenchmarkGroup bound() {
        List<Entrant> entrants = new ArrayList<>(List.of(Entrant.COALESCED, Entrant.LEASED, Entrant.SCRIPT));
        entrants.addAll(Entrant.PEERS);
        return new RedisGroup(
                new Group(
                        "redis-bound",
                        "Redis, two instances, one key under a limit that binds: what was allowed",
                        "× bound",
                        Better.LESS,
                        entrants.stream().map(Entrant::contender).toList(),
                        List.of(Goal.value(COALESCED, 1), Goal.detail(LEASED, "× bound of time + 1 s", 1)),
                        "2 000 per second, full at the start. Above 1 is more than a token bucket allows in that time; what is leased"
                                + " may have been debited 1 s before, so its bound is that of 1 s more."),
                entrants,
                new TwoInstances());
    }

    private static List<Entrant> entrants(Entrant... ours) {
        List<Entrant> all = new ArrayList<>(List.of(ours));
        all.addAll(Entrant.PEERS);
        all.add(Entrant.SCRIPT);
        all.add(Entrant.PING);
        return List.copyOf(all);
    }

    private static BenchmarkGroup throughput(
            String id, String title, List<Entrant> entrants, List<Goal> goals, String note, Scenario scenario) {
        Group group = new Group(
                id,
                title,
                "decisions/s",
                Better.MORE,
                entrants.stream().map(Entrant::contender).toList(),
                goals,
                note);
        return new RedisGroup(group, entrants, scenario);
    }
}
