package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.testing.Race;
import io.github.reactorratelimit.testing.Seeds;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.scheduler.Schedulers;
import reactor.test.scheduler.VirtualTimeScheduler;

/** A reply reaches the subscriber, or what frees what it hands out; whatever happens at the same moment. */
class LateReplyRaceTest {

    private static final RateLimitPolicy POLICY = FixedWindow.of(10, Duration.ofSeconds(1));
    private static final Duration DEADLINE = Duration.ofMillis(50);
    private static final int BATCH = 100;
    private static final int ROUNDS = 20;

    /** A command in flight. */
    private static final class InFlight {

        private final FakeServer server = new FakeServer();
        private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
        private final AtomicInteger replies = new AtomicInteger();
        private final AtomicInteger errors = new AtomicInteger();
        private final AtomicInteger unused = new AtomicInteger();
        private final Disposable subscription = subscribe(limiter(DEADLINE), "k");

        private LimiterCommands limiter(Duration deadline) {
            LimiterSettings settings =
                    new LimiterSettings("one", POLICY, time, Schedulers.parallel(), RateLimitRecorder.NOOP, 10, true);
            StoreOptions options = StoreOptions.DEFAULT.withDeadline(deadline);
            return new LimiterCommands(
                    server.queues(),
                    new RedisKeys("p", "one"),
                    settings,
                    options,
                    new FailureLog(settings, options, false));
        }

        private Disposable subscribe(LimiterCommands limiter, String key) {
            return limiter.send(key, ScriptPolicy.of(POLICY), Command.acquire(1), reply -> unused.incrementAndGet())
                    .subscribe(reply -> replies.incrementAndGet(), error -> errors.incrementAndGet());
        }

        private void miss() {
            time.advanceTimeBy(DEADLINE);
        }
    }

    private static List<InFlight> batch() {
        return IntStream.range(0, BATCH).mapToObj(race -> new InFlight()).toList();
    }

    @Test
    void replyThatComesWhenTheDeadlinePasses() {
        try (Race race = new Race(BATCH, Seeds.next())) {
            for (int round = 0; round < ROUNDS; round++) {
                List<InFlight> batch = batch();
                race.run(i -> batch.get(i).server.reply(), i -> batch.get(i).miss());
                assertThat(batch).allSatisfy(one -> {
                    assertThat(one.replies.get() + one.unused.get()).isEqualTo(1);
                    assertThat(one.errors).hasValue(one.unused.get());
                });
            }
        }
    }

    @Test
    void replyThatComesAfterTheSubscriberCancelledAndTheDeadlinePassed() {
        try (Race race = new Race(BATCH, Seeds.next())) {
            for (int round = 0; round < ROUNDS; round++) {
                List<InFlight> batch = batch();
                batch.forEach(one -> one.subscription.dispose());
                race.run(i -> batch.get(i).server.reply(), i -> batch.get(i).miss());
                assertThat(batch).allSatisfy(one -> assertThat(one.unused).hasValue(1));
            }
        }
    }

    @Test
    void replyInTimeForAnotherCommandOfTheCall() {
        InFlight first = new InFlight();
        first.server.reply();
        ReplyExecutor.deferringFlush(() -> {
            first.subscribe(first.limiter(DEADLINE), "a");
            first.subscribe(first.limiter(DEADLINE.multipliedBy(2)), "b");
        });
        first.miss();
        assertThat(first.errors).hasValue(1);
        first.server.reply();
        assertThat(first.server.sent()).isEqualTo(2);
        assertThat(first.replies).hasValue(2);
        assertThat(first.unused).hasValue(1);
    }
}
