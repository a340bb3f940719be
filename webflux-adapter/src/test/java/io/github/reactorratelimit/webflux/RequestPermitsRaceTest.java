package io.github.reactorratelimit.webflux;

import static io.github.reactorratelimit.webflux.testing.Rules.byUser;
import static io.github.reactorratelimit.webflux.testing.Rules.engine;
import static io.github.reactorratelimit.webflux.testing.Rules.few;
import static io.github.reactorratelimit.webflux.testing.Rules.left;
import static java.time.Duration.ofDays;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimiter;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.mock.http.server.reactive.MockServerHttpRequest;
import org.springframework.mock.web.server.MockServerWebExchange;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** A client that leaves at the moment when its turn comes: its permits are spent or given back, and never both. */
class RequestPermitsRaceTest {

    private static final int ROUNDS = Boolean.getBoolean("ratelimit.tests.full") ? 20_000 : 500;

    private final ExecutorService other = Executors.newSingleThreadExecutor();
    private final Scheduler scheduler = Schedulers.newSingle("turns");
    private final RateLimiter early = RateLimiter.of(few(1));
    private final RateLimiter late =
            RateLimiter.builder(few(1)).scheduler(scheduler).build();
    private final RateLimitWebFilter filter = RateLimitWebFilter.of(engine(
            byUser("early").limiter(early).build(),
            byUser("late").limiter(late).delay(ofDays(1)).build()));

    @AfterEach
    void stop() {
        other.shutdownNow();
        late.dispose();
        scheduler.dispose();
    }

    /** What the scheduler had to do is done: a turn takes a few tasks, one after the other. */
    private void settle() {
        for (int i = 0; i < 10; i++) {
            Mono.fromRunnable(() -> {}).subscribeOn(scheduler).block();
        }
    }

    @Test
    void requestThatRunsHasNotGotItsPermitsBack() throws Exception {
        CyclicBarrier start = new CyclicBarrier(2);
        for (int round = 0; round < ROUNDS; round++) {
            String user = "user" + round;
            late.tryAcquire(user).block();
            AtomicInteger handled = new AtomicInteger();
            Disposable request = filter.filter(
                            MockServerWebExchange.from(
                                    MockServerHttpRequest.get("/").header("X-User", user)),
                            exchange -> Mono.fromRunnable(handled::incrementAndGet))
                    .subscribe();
            assertThat(left(early, user)).isZero();

            Future<?> turn = other.submit(() -> {
                start.await();
                return late.reset(user).block();
            });
            start.await();
            request.dispose();
            turn.get();
            settle();

            boolean givenBack = left(early, user) == 1;
            assertThat(handled.get() == 1 && givenBack).as("round " + round).isFalse();
            assertThat(left(late, user) == 0)
                    .as("spent in both or in none, round " + round)
                    .isEqualTo(!givenBack);
        }
    }
}
