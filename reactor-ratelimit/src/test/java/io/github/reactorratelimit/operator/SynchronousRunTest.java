package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;

/** A million elements in one synchronous run: the stack does not grow, and what is allowed at once allocates nothing. */
class SynchronousRunTest {

    private static final int MILLION = 1_000_000;

    enum Mode {
        ORDERED(spec -> spec),
        UNORDERED(spec -> spec.unordered(16)),
        DROPPING(spec -> spec.drop()),
        REPLACING(spec -> spec.fallback((element, decision) -> element)),
        PER_SUBSCRIPTION(spec -> spec.perSubscription());

        final UnaryOperator<LimitSpec<Integer>> spec;

        Mode(UnaryOperator<LimitSpec<Integer>> spec) {
            this.spec = spec;
        }
    }

    /** Asks for one element at a time, from inside onNext. */
    private static final class OneByOne extends BaseSubscriber<Integer> {

        private int seen;
        private boolean completed;

        @Override
        protected void hookOnSubscribe(Subscription subscription) {
            request(1);
        }

        @Override
        protected void hookOnNext(Integer value) {
            seen++;
            request(1);
        }

        @Override
        protected void hookOnComplete() {
            completed = true;
        }
    }

    private static HandLimiter plenty() {
        return new HandLimiter(TokenBucket.perSecond(1), Long.MAX_VALUE / 2);
    }

    @ParameterizedTest
    @EnumSource
    void permitsThatAreThereUnderUnboundedDemand(Mode mode) {
        Long count = Flux.range(0, MILLION)
                .transform(limitRate(plenty(), mode.spec))
                .count()
                .block();
        assertThat(count).isEqualTo(MILLION);
    }

    @ParameterizedTest
    @EnumSource
    void permitsThatAreThereUnderDemandFromOnNext(Mode mode) {
        OneByOne subscriber = new OneByOne();
        Flux.range(0, MILLION).transform(limitRate(plenty(), mode.spec)).subscribe(subscriber);
        assertThat(subscriber.seen).isEqualTo(MILLION);
        assertThat(subscriber.completed).isTrue();
    }

    @ParameterizedTest
    @EnumSource
    void grantsThatComeInsideSubscribe(Mode mode) {
        OneByOne subscriber = new OneByOne();
        Flux.range(0, MILLION)
                .transform(limitRate(plenty().withoutFastPath(), mode.spec))
                .subscribe(subscriber);
        assertThat(subscriber.seen).isEqualTo(MILLION);
        assertThat(subscriber.completed).isTrue();
    }

    @Test
    void droppedElementsOfOneRun() {
        RateLimiter spent = Alternation.limiter();
        Long count = Flux.range(0, MILLION)
                .transform(limitRate(spent, spec -> spec.key(Alternation.DENIED).drop()))
                .count()
                .block();
        assertThat(count).isZero();
    }

    @Test
    void allWaitingElementsOfOneKeyAreReleasedWithoutRecursion() {
        HandLimiter limiter = HandLimiter.with(0);
        int held = 20_000;
        AtomicInteger seen = new AtomicInteger();
        Flux.range(0, held)
                .transform(limitRate(limiter, spec -> spec.unordered(held)))
                .subscribe(element -> seen.incrementAndGet());
        assertThat(limiter.waiting()).isEqualTo(held);
        for (int last = held - 1; last >= 0; last--) {
            limiter.answer(last, true);
        }
        assertThat(seen).hasValue(held);
    }

    @ParameterizedTest
    @EnumSource(names = {"ORDERED", "UNORDERED", "DROPPING", "REPLACING"})
    void allowedElementAllocatesNothing(Mode mode) {
        RateLimiter limiter =
                RateLimiter.of(TokenBucket.perSecond(1_000_000_000).withBurst(1L << 30));
        Integer element = 7;
        Runnable run = () -> Flux.<Integer>generate(sink -> sink.next(element))
                .transform(limitRate(limiter, mode.spec))
                .take(MILLION)
                .blockLast(Duration.ofMinutes(1));
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        run.run();
        long before = threads.getCurrentThreadAllocatedBytes();
        run.run();
        long perElement = (threads.getCurrentThreadAllocatedBytes() - before) / MILLION;
        assertThat(perElement).isZero();
    }
}
