package io.github.reactorratelimit.benchmarks.redis;

import io.github.bucket4j.distributed.proxy.optimization.DelayParameters;
import io.github.bucket4j.distributed.proxy.optimization.Optimization;
import io.github.bucket4j.distributed.proxy.optimization.Optimizations;
import io.github.reactorratelimit.benchmarks.report.Contender;
import io.github.reactorratelimit.redis.RedisStore;
import java.time.Duration;
import java.util.List;

/** A contender as the report names it, and how it is opened. */
record Entrant(Contender contender, Target.Opener opener) {

    static final Entrant COALESCED = new Entrant(Contender.ours("ours, coalesced"), Ours.with(store -> store));
    static final Entrant LEASED = new Entrant(Contender.ours("ours, leased"), Ours.with(RedisStore::leasing));
    static final Entrant ON_CONNECTION = new Entrant(
            Contender.ours("ours, answering on the connection"), Ours.with(RedisStore::answeringOnConnection));
    static final Entrant ONE_CALL_EACH =
            new Entrant(Contender.ours("ours, one call each"), Ours.with(RedisStore::withoutCoalescing));

    static final Entrant SCRIPT = new Entrant(Contender.floor("one smallest script each"), SmallestScript::open);
    static final Entrant PING = new Entrant(Contender.floor("one PING each"), Ping::open);

    static final Entrant BUCKET4J =
            new Entrant(Contender.peer("Bucket4j CAS"), Bucket4j.with(Optimization.NONE_OPTIMIZED));
    static final Entrant BATCHING =
            new Entrant(Contender.peer("Bucket4j batching"), Bucket4j.with(Optimizations.batching()));

    /** As long without a call as our leases, by default, and a thousand tokens at most. */
    static final Entrant DELAYING = new Entrant(
            Contender.peer("Bucket4j delaying"),
            Bucket4j.with(Optimizations.delaying(new DelayParameters(1_000, Duration.ofSeconds(1)))));

    static final Entrant REDISSON = new Entrant(Contender.peer("Redisson"), RedissonLimiter::open);
    static final Entrant GATEWAY = new Entrant(Contender.peer("Spring Cloud Gateway script"), GatewayScript::open);

    static final List<Entrant> PEERS = List.of(BUCKET4J, BATCHING, DELAYING, REDISSON, GATEWAY);

    String name() {
        return contender.name();
    }
}
