package io.github.reactorratelimit.redis;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.CallerThread;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitContext;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Await;
import io.github.reactorratelimit.testing.redis.RedisExtension;
import io.github.reactorratelimit.testing.redis.Standalone;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.event.command.CommandListener;
import io.lettuce.core.event.command.CommandStartedEvent;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.ProtocolKeyword;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Takes of threads that want to be answered where they ask, as event loops do. */
@ExtendWith(RedisExtension.class)
class CallerThreadTest {

    private static final Duration PATIENCE = ofSeconds(30);
    private static final long CAPACITY = 1_000;

    private final RedisClient client;
    private final StatefulRedisConnection<String, String> connection;
    private final List<Loop> loops = new ArrayList<>();

    CallerThreadTest(Standalone redis) {
        client = RedisClient.create(redis.uri());
        connection = client.connect();
    }

    @AfterEach
    void close() {
        loops.forEach(loop -> loop.executor.shutdownNow());
        connection.close();
        client.shutdown(Duration.ZERO, ofSeconds(1));
    }

    /** A thread with a queue of tasks, which takes them without a lock as an event loop does: the connection's thread brings some, and must not block. */
    private static final class Loop implements CallerThread {

        private final ExecutorService executor;
        private final Thread thread;

        Loop() {
            executor = new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS, new LinkedTransferQueue<>());
            thread = CompletableFuture.supplyAsync(Thread::currentThread, executor)
                    .join();
        }

        @Override
        public boolean isCurrent() {
            return Thread.currentThread() == thread;
        }

        @Override
        public void execute(Runnable task) {
            executor.execute(task);
        }

        /** Asks there, and is answered where the answer comes. */
        <T> CompletableFuture<T> ask(Mono<T> ask) {
            CompletableFuture<T> answer = new CompletableFuture<>();
            execute(() -> ask.contextWrite(RateLimitContext.answersOn(this))
                    .subscribe(answer::complete, answer::completeExceptionally));
            return answer;
        }
    }

    /** Of the connections that are made after it was added: what others ask the server does not count. */
    private static final class ScriptCount implements CommandListener {

        private final AtomicInteger scripts = new AtomicInteger();

        @Override
        public void commandStarted(CommandStartedEvent event) {
            ProtocolKeyword type = event.getCommand().getType();
            if (type == CommandType.EVALSHA || type == CommandType.EVAL) {
                scripts.incrementAndGet();
            }
        }
    }

    private Loop loop() {
        Loop loop = new Loop();
        loops.add(loop);
        return loop;
    }

    private RateLimiter limiter(UnaryOperator<RedisStore> option) {
        RedisStore store = RedisStore.of(connection).withDeadline(PATIENCE).withoutSelfTest();
        RateLimiter limiter = RateLimiter.builder(new TokenBucket(CAPACITY, CAPACITY, ofDays(300)))
                .name("caller-" + UUID.randomUUID())
                .store(option.apply(store))
                .build();
        limiter.reset("warm-up")
                .then(limiter.tryAcquire("warm-up"))
                .then(limiter.tryAcquire("warm-up"))
                .block(PATIENCE);
        return limiter;
    }

    private RateLimiter limiter() {
        return limiter(store -> store);
    }

    private static <T> T get(CompletableFuture<T> answer) {
        return Mono.fromFuture(answer).block(PATIENCE);
    }

    private static UnaryOperator<RedisStore> kind(String kind) {
        return switch (kind) {
            case "on the connection" -> RedisStore::answeringOnConnection;
            default -> store -> store;
        };
    }

    @ParameterizedTest
    @ValueSource(strings = {"as it is", "on the connection"})
    void answersComeOnTheThreadThatWantsThem(String kind) {
        RateLimiter limiter = limiter(kind(kind));
        Loop one = loop();
        Loop another = loop();
        List<CompletableFuture<Boolean>> there = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            Loop loop = i % 3 == 0 ? one : another;
            there.add(loop.ask(limiter.tryAcquire("k" + i % 7).map(decision -> loop.isCurrent())));
        }
        assertThat(there).allSatisfy(answer -> assertThat(get(answer)).isTrue());
    }

    @ParameterizedTest
    @ValueSource(strings = {"as it is", "on the connection"})
    void eachPermitIsGivenOnceHoweverManyThreadsAsk(String kind) {
        RateLimiter limiter = limiter(kind(kind));
        List<CompletableFuture<Long>> allowed = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            allowed.add(loop().ask(Flux.range(0, 1_000)
                    .flatMap(ask -> limiter.tryAcquire("k"), 16)
                    .filter(Decision::allowed)
                    .count()));
        }
        assertThat(allowed.stream().mapToLong(CallerThreadTest::get).sum()).isEqualTo(CAPACITY);
    }

    @Test
    void whatAThreadAsksForAKeyIsDoneInOrder() {
        RateLimiter limiter = limiter();
        Loop loop = loop();
        for (int round = 0; round < 100; round++) {
            List<Mono<Long>> asks = List.of(
                    limiter.tryAcquire("k").map(Decision::remaining),
                    limiter.reset("k").thenReturn(-1L),
                    limiter.tryAcquire("k").map(Decision::remaining),
                    limiter.peek("k").map(Decision::remaining),
                    limiter.tryAcquire("k").map(Decision::remaining));
            List<Long> seen =
                    get(loop.ask(Flux.mergeSequential(asks, asks.size(), 1).collectList()));
            assertThat(seen.subList(1, 5))
                    .as("round " + round)
                    .containsExactly(-1L, CAPACITY - 1, CAPACITY - 1, CAPACITY - 2);
        }
    }

    @Test
    void threadThatTakesNoTasksAnyMoreIsAnsweredElsewhere() {
        RateLimiter limiter = limiter();
        HandThread gone = new HandThread();
        gone.refuse();

        Decision decision = limiter.tryAcquire("k")
                .contextWrite(RateLimitContext.answersOn(gone))
                .block(PATIENCE);

        assertThat(decision.allowed()).isTrue();
    }

    /** All travel in one call: one whose thread fails keeps no other from its answer. */
    static Stream<Throwable> failures() {
        return Stream.of(new IllegalStateException("broken"), new AssertionError("broken"));
    }

    @ParameterizedTest
    @MethodSource("failures")
    void threadWhoseExecuteFailsIsAnsweredElsewhereAndSoAreOthers(Throwable failure) {
        RateLimiter limiter = limiter();
        HandThread thread = new HandThread();
        HandThread broken = new HandThread();
        broken.refuseBy(failure);
        List<CompletableFuture<Decision>> answers = IntStream.range(0, 10)
                .mapToObj(i -> limiter.tryAcquire("k" + i)
                        .contextWrite(RateLimitContext.answersOn(i % 3 == 1 ? broken : thread))
                        .toFuture())
                .toList();
        Await.until("all answers", () -> {
            thread.endTurn();
            return answers.stream().allMatch(CompletableFuture::isDone);
        });

        assertThat(answers)
                .allSatisfy(answer -> assertThat(get(answer).allowed()).isTrue());
    }

    @Test
    void threadThatIsKeptInItsTurnKeepsNobodyElseWaiting() throws InterruptedException {
        RateLimiter limiter = limiter();
        Loop kept = loop();
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch goesOn = new CountDownLatch(1);
        CompletableFuture<Decision> its = new CompletableFuture<>();
        kept.execute(() -> {
            limiter.tryAcquire("k")
                    .contextWrite(RateLimitContext.answersOn(kept))
                    .subscribe(its::complete);
            begun.countDown();
            await(goesOn);
        });
        try {
            assertThat(begun.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            Loop another = loop();
            for (int i = 0; i < 20; i++) {
                assertThat(get(another.ask(limiter.tryAcquire("k"))).allowed()).isTrue();
            }
        } finally {
            goesOn.countDown();
        }
        assertThat(get(its).allowed()).isTrue();
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await(2 * PATIENCE.toSeconds(), TimeUnit.SECONDS);
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void whoLeavesBeforeItsThreadHearsTheAnswerGivesItBack() {
        RateLimiter limiter = limiter();
        HandThread thread = new HandThread();
        List<Decision> heard = new ArrayList<>();
        Disposable leaving = limiter.tryAcquire("k")
                .contextWrite(RateLimitContext.answersOn(thread))
                .subscribe(heard::add);
        // Answered behind it, on the same connection: so the thread has its answer.
        assertThat(limiter.peek("k").block(PATIENCE).remaining()).isEqualTo(CAPACITY - 1);

        leaving.dispose();
        thread.endTurn();

        Await.until(
                "the permit is back", () -> limiter.peek("k").block(PATIENCE).remaining() == CAPACITY);
        assertThat(heard).isEmpty();
    }
}
