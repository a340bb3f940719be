package io.github.reactorratelimit.redis.harness;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.redis.RedisStore;
import io.github.reactorratelimit.testing.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** One of the processes that hammer: lanes for each row and key, each of which asks again as soon as it is answered. */
final class HammerChild {

    /** Redis is never given up here: a debit without an answer would look like a quota that was not used. */
    private static final Duration DEADLINE = Duration.ofSeconds(20);

    private static final Duration WARM_UP_TIME = Duration.ofSeconds(1);
    private static final String WARM_UP = "warm-up";

    private final HammerPlan plan;
    private final Queue<String> grants = new ConcurrentLinkedQueue<>();
    private final Map<HammerRow, LongAdder> asked = new ConcurrentHashMap<>();
    private final LongAdder degraded = new LongAdder();
    private volatile boolean running = true;

    private HammerChild(HammerPlan plan) {
        this.plan = plan;
    }

    public static void main(String[] arguments) throws Exception {
        HammerPlan plan = HammerPlan.parse(arguments);
        try (Connected redis = plan.connect()) {
            new HammerChild(plan).run(redis);
        }
        System.exit(0);
    }

    private void run(Connected redis) throws InterruptedException {
        RedisStore store = redis.store().withPrefix(plan.run()).withDeadline(DEADLINE);
        List<Mono<Void>> lanes = new ArrayList<>();
        List<Mono<Void>> warmUps = new ArrayList<>();
        for (HammerRow row : plan.rows()) {
            RateLimiter limiter = RateLimiter.builder(row.policy())
                    .name(row.name())
                    .store(row.on(store))
                    .build();
            warmUps.add(lane(row, limiter, WARM_UP));
            for (int key = 0; key < plan.keys(); key++) {
                for (int lane = 0; lane < plan.lanes(); lane++) {
                    lanes.add(lane(row, limiter, "k" + key));
                }
            }
        }
        warmUp(warmUps);
        awaitTheOthers(redis);
        System.out.println("start " + redis.serverMicros());
        CountDownLatch done = new CountDownLatch(1);
        Flux.merge(Flux.fromIterable(lanes), lanes.size())
                .doFinally(end -> done.countDown())
                .subscribe();
        done.await(plan.duration().toMillis(), TimeUnit.MILLISECONDS);
        System.out.println("stop " + redis.serverMicros());
        running = false;
        boolean ended = done.await(DEADLINE.toSeconds(), TimeUnit.SECONDS);
        StringBuilder lines = new StringBuilder();
        grants.forEach(grant -> lines.append("grant ").append(grant).append('\n'));
        asked.forEach((row, count) -> lines.append(row + " " + count + "\n"));
        lines.append("degraded ").append(degraded).append('\n');
        lines.append("hung ").append(ended ? 0 : 1).append('\n');
        System.out.print(lines);
        System.out.flush();
    }

    /** A process that has just started is slow, and would leave quota unused. */
    private void warmUp(List<Mono<Void>> lanes) {
        Flux.merge(Flux.fromIterable(lanes), lanes.size()).take(WARM_UP_TIME).blockLast(DEADLINE);
        grants.clear();
        asked.clear();
    }

    private void awaitTheOthers(Connected redis) {
        String ready = "{" + plan.run() + "}:ready";
        redis.commands().incr(ready);
        redis.commands().expire(ready, 60);
        Await.until(
                "all processes ready", () -> Integer.parseInt(redis.commands().get(ready)) >= plan.processes());
    }

    private Mono<Void> lane(HammerRow row, RateLimiter limiter, String key) {
        return Mono.defer(() -> row.ask(limiter, key))
                .flatMap(decision -> seen(row, key, decision))
                .repeat(() -> running)
                .then();
    }

    private Mono<Void> seen(HammerRow row, String key, Decision decision) {
        asked.computeIfAbsent(row, ignored -> new LongAdder()).increment();
        if (decision.degraded()) {
            degraded.increment();
        } else if (decision.allowed()) {
            grants.add(row + " " + key + " " + decision.debit().orElseThrow().atTick());
            return Mono.empty();
        }
        return Mono.delay(plan.pause()).then();
    }
}
