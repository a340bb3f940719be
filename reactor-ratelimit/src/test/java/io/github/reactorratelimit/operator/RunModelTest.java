package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.FixedWindow;
import io.github.reactorratelimit.Gcra;
import io.github.reactorratelimit.LeakyBucket;
import io.github.reactorratelimit.ManualScheduler;
import io.github.reactorratelimit.Policies;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowCounter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.testing.Seeds;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;

/**
 * A source that is polled, and one that is not and so asks for every element, see the same history: the
 * same elements at the same times, and the same permits left after every step.
 */
class RunModelTest {

    private static final int HISTORIES = Boolean.getBoolean("ratelimit.tests.full") ? 20_000 : 1_000;

    private final Random random = new Random(Seeds.of("runs"));

    /** One of the two streams, with a limiter and a clock of its own. */
    private static final class Stream {

        final ManualScheduler clock = new ManualScheduler(-1_000);
        final RateLimiter limiter;
        final List<String> seen = new ArrayList<>();
        final BaseSubscriber<Integer> subscriber;

        Stream(RateLimitPolicy policy, UnaryOperator<LimitSpec<Integer>> spec, Flux<Integer> source, int askAgain) {
            limiter = RateLimiter.builder(policy).scheduler(clock).build();
            subscriber = new BaseSubscriber<>() {
                @Override
                protected void hookOnSubscribe(org.reactivestreams.Subscription subscription) {}

                @Override
                protected void hookOnNext(Integer element) {
                    log("next " + element);
                    if (askAgain > 0 && element % askAgain == 0) {
                        request(2);
                    }
                }

                @Override
                protected void hookOnComplete() {
                    log("complete");
                }

                @Override
                protected void hookOnError(Throwable failure) {
                    log(failure.toString());
                }
            };
            source.transform(limitRate(limiter, spec)).subscribe(subscriber);
        }

        private void log(String signal) {
            seen.add(clock.now(java.util.concurrent.TimeUnit.NANOSECONDS) + ": " + signal);
        }

        void advance(long nanos) {
            long left = nanos;
            while (clock.pending() > 0 && clock.nextIn() <= left) {
                long step = Math.max(0, clock.nextIn());
                clock.advance(step);
                left -= step;
                clock.runDue();
            }
            clock.advance(left);
            clock.runDue();
        }

        String left() {
            AtomicReference<Decision> answer = new AtomicReference<>();
            limiter.peek(LimitSpec.DEFAULT_KEY).subscribe(answer::set);
            return answer.get().toString();
        }
    }

    private RateLimitPolicy policy() {
        long capacity = 1 + random.nextInt(random.nextBoolean() ? 10 : 2_000);
        long rate = 1 + random.nextInt(500);
        return switch (random.nextInt(8)) {
            case 0 -> TokenBucket.perSecond(rate).withBurst(capacity);
            case 1 -> TokenBucket.of(rate, ofMillis(300)).withBurst(capacity).stepwise();
            case 2 -> Gcra.perSecond(rate).withBurst(capacity);
            case 3 -> FixedWindow.of(capacity, ofSeconds(1));
            case 4 -> SlidingWindowLog.of(capacity, ofSeconds(1));
            case 5 -> SlidingWindowCounter.of(capacity, ofSeconds(1));
            case 6 -> LeakyBucket.perSecond(rate).withQueue(capacity);
            default ->
                Policies.all(
                        TokenBucket.perSecond(rate).withBurst(capacity),
                        FixedWindow.of(1 + random.nextInt(2_000), ofSeconds(1)));
        };
    }

    private UnaryOperator<LimitSpec<Integer>> spec(long cost) {
        return switch (random.nextInt(5)) {
            case 0 -> spec -> spec.cost(cost);
            case 1 -> spec -> spec.cost(cost).reject();
            case 2 -> spec -> spec.cost(cost).drop();
            case 3 -> spec -> spec.cost(cost).fallback((element, decision) -> -element);
            default -> spec -> spec.cost(cost).maxWait(ofMillis(50));
        };
    }

    private Flux<Integer> source() {
        int elements = random.nextInt(3_000);
        int failsAt = random.nextInt(6_000);
        Flux<Integer> plain = random.nextBoolean()
                ? Flux.range(1, elements)
                : Flux.generate(AtomicInteger::new, (count, sink) -> {
                    if (count.get() == elements) {
                        sink.complete();
                    } else {
                        sink.next(count.incrementAndGet());
                    }
                    return count;
                });
        return plain.filter(element -> element % 5 != 0).map(element -> {
            if (element == failsAt) {
                throw new IllegalStateException("boom");
            }
            return element;
        });
    }

    @Test
    void polledSourceIsLimitedLikeOneThatAsksForEveryElement() {
        for (int i = 0; i < HISTORIES; i++) {
            RateLimitPolicy policy = policy();
            long cost = Math.min(policy.capacity(), 1 + random.nextInt(3));
            UnaryOperator<LimitSpec<Integer>> spec = spec(cost);
            Flux<Integer> source = source();
            int askAgain = random.nextInt(4);
            Stream polled = new Stream(policy, spec, source, askAgain);
            Stream asked = new Stream(policy, spec, source.hide(), askAgain);
            play(polled, asked, policy);
        }
    }

    private void play(Stream polled, Stream asked, RateLimitPolicy policy) {
        int steps = 1 + random.nextInt(12);
        for (int step = 0; step < steps; step++) {
            long demand = random.nextInt(5) == 0 ? Long.MAX_VALUE : random.nextInt(random.nextBoolean() ? 4 : 400);
            long nanos = random.nextInt(3) == 0 ? random.nextInt(3_000) : random.nextInt(700_000_000);
            boolean cancels = random.nextInt(20) == 0;
            for (Stream stream : List.of(polled, asked)) {
                if (demand > 0) {
                    stream.subscriber.request(demand);
                }
                stream.advance(nanos);
                if (cancels) {
                    stream.subscriber.cancel();
                }
            }
            assertThat(polled.seen).as(policy.toString()).isEqualTo(asked.seen);
            assertThat(polled.left()).as(policy.toString()).isEqualTo(asked.left());
        }
    }
}
