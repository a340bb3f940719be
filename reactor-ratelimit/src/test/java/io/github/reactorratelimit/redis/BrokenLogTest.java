package io.github.reactorratelimit.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitException;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimitRecorder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import reactor.core.scheduler.Schedulers;
import reactor.test.scheduler.VirtualTimeScheduler;

/** A logger or recorder that throws keeps no key busy: the next command for the key is sent. */
class BrokenLogTest {

    private static final RateLimitPolicy POLICY = FixedWindow.of(10, Duration.ofSeconds(1));
    private static final Duration DEADLINE = Duration.ofMillis(50);

    private final FakeServer server = new FakeServer();
    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final ScriptPolicy policy = ScriptPolicy.of(POLICY);
    private final LimiterCommands limiter = limiter();
    private final List<Throwable> failures = new ArrayList<>();
    private final List<Throwable> told = new ArrayList<>();
    private Thread.UncaughtExceptionHandler handler;

    private LimiterCommands limiter() {
        LimiterSettings settings =
                new LimiterSettings("one", POLICY, time, Schedulers.parallel(), RateLimitRecorder.NOOP, 10, true);
        StoreOptions options = StoreOptions.DEFAULT.withDeadline(DEADLINE);
        FailureLog log = new FailureLog(settings, options, false) {

            @Override
            void unavailable(String node, RedisUnavailableException why) {
                throw new IllegalStateException("no logger");
            }

            @Override
            void availableAgain(String node) {
                throw new IllegalStateException("no logger");
            }

            @Override
            void failed(RateLimitException error) {
                throw new IllegalStateException("no logger");
            }
        };
        return new LimiterCommands(server.queues(), new RedisKeys("p", "one"), settings, options, log);
    }

    @BeforeEach
    void hearUncaughtExceptions() {
        handler = Thread.currentThread().getUncaughtExceptionHandler();
        Thread.currentThread().setUncaughtExceptionHandler((thread, thrown) -> told.add(thrown));
    }

    @AfterEach
    void restore() {
        Thread.currentThread().setUncaughtExceptionHandler(handler);
    }

    private void send(String key) {
        limiter.send(key, policy, Command.acquire(1)).subscribe(reply -> {}, failures::add);
    }

    @Test
    void keyOfAnErrorReplyIsIdleAfterwards() {
        send("k");
        server.replyError("ERR broken");
        assertThat(failures)
                .hasOnlyElementsOfType(RedisErrorReplyException.class)
                .hasSize(1);
        assertThat(told).hasSize(1);

        send("k");
        assertThat(server.inFlight()).isEqualTo(1);
    }

    @Test
    void keyOfACallThatOpensOrClosesTheBreakerIsIdleAfterwards() {
        for (int i = 0; i < CircuitBreaker.FAILURES_IN_A_ROW; i++) {
            send("k");
            time.advanceTimeBy(DEADLINE);
        }
        assertThat(failures).hasSize(CircuitBreaker.FAILURES_IN_A_ROW);
        assertThat(told).as("the breaker opens").hasSize(1);

        time.advanceTimeBy(LimiterCommands.PROBE_EVERY);
        while (server.reply()) {
            // What is late changes nothing.
        }
        send("k");
        assertThat(server.sent()).isEqualTo(CircuitBreaker.FAILURES_IN_A_ROW + 1);
        server.reply();
        assertThat(told).as("the breaker closes").hasSize(2);
        assertThat(failures).as("the probe is decided").hasSize(CircuitBreaker.FAILURES_IN_A_ROW);
        send("k");
        assertThat(server.inFlight()).isEqualTo(1);
    }
}
