package io.github.reactorratelimit.webflux.fragile;

import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.RateLimitExceededException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.redis.RedisStore;
import io.github.reactorratelimit.webflux.client.RateLimitExchangeFilter;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * One of the processes that call a {@link FragileServer}: workers that make one call after the other, as fast as they may.
 * Prints each call with its slot, when it was granted, and its end; each pause; and each time that somebody was told that
 * it would have to wait too long. Times are {@link System#nanoTime()}, the same clock in all processes, or those of Redis
 * in microseconds.
 */
final class FragileClient {

    private static final int WARM_UP_CALLS = 300;
    private static final int WARM_UP_PER_SECOND = 1_000;
    private static final int NO_ANSWER = 0;
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final Duration DEADLINE = Duration.ofMinutes(1);
    private static final Duration UNBOUNDED = Duration.ofNanos(Long.MAX_VALUE);
    private static final Duration AFTER_DENIAL = Duration.ofMillis(5);
    private static final long STEP_NANOS = Duration.ofMillis(5).toNanos();

    private final ClientPlan plan;
    private final StatefulRedisConnection<String, String> redis;
    private final RedisStore store;
    private final String process = Long.toString(ProcessHandle.current().pid());
    private final Queue<String> lines = new ConcurrentLinkedQueue<>();
    private final AtomicLong calls = new AtomicLong();
    private volatile boolean running = true;

    private FragileClient(ClientPlan plan, StatefulRedisConnection<String, String> redis, RedisStore store) {
        this.plan = plan;
        this.redis = redis;
        this.store = store;
    }

    /** Arguments: a {@link ClientPlan}. */
    public static void main(String[] arguments) throws Exception {
        ClientPlan plan = ClientPlan.of(arguments);
        RedisURI uri = RedisURI.create(plan.redis());
        uri.setTimeout(PATIENCE);
        RedisStore store = RedisStore.connect(uri).block(PATIENCE);
        new FragileClient(plan, RedisClient.create(uri).connect(), store.withDeadline(DEADLINE)).run();
        System.exit(0);
    }

    private void run() throws InterruptedException {
        warmUp();
        redis.sync().incr(plan.readyKey());
        awaitKey(plan.goKey(), PATIENCE);
        RateLimiter limiter = limiter(plan.run(), plan.policy());
        List<Mono<Void>> workers = new ArrayList<>();
        WebClient client = client(limiter, UNBOUNDED);
        for (int i = 0; i < plan.workers(); i++) {
            workers.add(worker(client));
        }
        if (!plan.patience().isZero()) {
            workers.add(impatient(client(limiter, plan.patience())));
        }
        CountDownLatch done = new CountDownLatch(1);
        Flux.merge(Flux.fromIterable(workers), workers.size())
                .doOnError(Throwable::printStackTrace)
                .doOnComplete(done::countDown)
                .subscribe();
        awaitKey(plan.stopKey(), plan.duration());
        running = false;
        boolean ended = done.await(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        lines.add("hung " + (ended ? 0 : 1));
        System.out.println(String.join("\n", lines));
        System.out.flush();
    }

    /** What a process does for the first time takes long, and would count as the lag of its first calls. */
    private void warmUp() {
        WebClient client =
                client(limiter("warm-up-" + plan.run(), LeakyBucket.perSecond(WARM_UP_PER_SECOND)), UNBOUNDED);
        Flux.range(0, WARM_UP_CALLS)
                .flatMap(i -> call(client, 0), plan.workers())
                .then(serverMicros())
                .block(PATIENCE);
        lines.clear();
    }

    private void awaitKey(String key, Duration atMost) {
        long begunNanos = System.nanoTime();
        while (redis.sync().exists(key) == 0 && System.nanoTime() - begunNanos < atMost.toNanos()) {
            LockSupport.parkNanos(STEP_NANOS);
        }
    }

    private RateLimiter limiter(String name, LeakyBucket policy) {
        return TracedLimiter.of(
                RateLimiter.builder(policy).name(name).store(store).build(), this::notePause);
    }

    /** The pause begins between the two times of Redis that are asked for. */
    private Mono<Void> notePause(Mono<Void> pause) {
        return Mono.defer(() -> {
            long readNanos = System.nanoTime();
            return serverMicros()
                    .flatMap(before -> pause.then(serverMicros())
                            .doOnNext(after -> lines.add(
                                    "pause " + readNanos + " " + before + " " + after + " " + System.nanoTime())))
                    .then();
        });
    }

    private Mono<Long> serverMicros() {
        return redis.reactive()
                .time()
                .map(Long::parseLong)
                .collectList()
                .map(time -> time.get(0) * 1_000_000 + time.get(1));
    }

    private WebClient client(RateLimiter limiter, Duration maxWait) {
        WebClient.Builder builder = WebClient.builder().baseUrl(plan.server());
        if (plan.limited()) {
            builder.filter(RateLimitExchangeFilter.of(limiter, spec -> spec.maxWait(maxWait)));
        }
        return builder.build();
    }

    private Mono<Void> worker(WebClient client) {
        return Mono.defer(() -> call(client, 0)).repeat(() -> running).then();
    }

    /** Asks Redis for the time before each call. */
    private Mono<Void> impatient(WebClient client) {
        return serverMicros()
                .flatMap(askedMicros -> call(client, askedMicros))
                .repeat(() -> running)
                .then();
    }

    private Mono<Void> call(WebClient client, long askedMicros) {
        Call call = new Call(process + "-" + calls.incrementAndGet());
        return client.get()
                .header(FragileServer.CALL, call.name())
                .exchangeToMono(response ->
                        response.releaseBody().thenReturn(response.statusCode().value()))
                .contextWrite(context -> context.put(Call.class, call))
                .doOnNext(status -> lines.add(call.ended(status)))
                .then()
                .onErrorResume(RateLimitExceededException.class, denied -> told(askedMicros))
                .onErrorResume(failure -> {
                    lines.add(call.ended(NO_ANSWER));
                    return Mono.empty();
                });
    }

    /** If Redis was asked after a pause began, this process knows of the pause: the answer said so. */
    private Mono<Void> told(long askedMicros) {
        long toldNanos = System.nanoTime();
        return serverMicros()
                .doOnNext(micros -> lines.add("told " + process + " " + toldNanos + " " + askedMicros + " " + micros))
                .then(Mono.delay(AFTER_DENIAL))
                .then();
    }
}
