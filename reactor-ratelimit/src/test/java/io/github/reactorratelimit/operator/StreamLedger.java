package io.github.reactorratelimit.operator;

import static io.github.reactorratelimit.operator.RateLimitOperators.limitRate;

import io.github.reactorratelimit.RateLimiter;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.SignalType;
import reactor.core.scheduler.Scheduler;

/**
 * Streams of random size that complete, fail or are cancelled, from their own thread or from another, all charged to one key.
 * Counts what their subscribers got.
 */
public final class StreamLedger {

    private static final int MOST_ELEMENTS = 60;
    private static final int MOST_COST = 4;

    private final RateLimiter limiter;
    private final String key;
    private final SplittableRandom random;
    private final AtomicLong delivered = new AtomicLong();
    private final CountDownLatch running;

    public StreamLedger(RateLimiter limiter, String key, int streams, SplittableRandom random) {
        this.limiter = limiter;
        this.key = key;
        this.random = random;
        this.running = new CountDownLatch(streams);
    }

    /** The most that one stream may cost. */
    public static long mostCost() {
        return MOST_ELEMENTS * MOST_COST;
    }

    /** The sum of the costs of all elements that were passed on. */
    public long delivered() {
        return delivered.get();
    }

    public CountDownLatch running() {
        return running;
    }

    /** Starts one stream; {@code times} is where its elements and some of its cancels come from. */
    public void start(Scheduler times) {
        int elements = random.nextInt(MOST_ELEMENTS);
        long estimate = 1 + random.nextInt(80);
        int end = random.nextInt(4);
        int cancelAfter = random.nextInt(MOST_ELEMENTS);
        List<Integer> costs = random.ints(elements, 0, MOST_COST + 1).boxed().toList();
        Flux<Integer> source = Flux.fromIterable(costs);
        if (random.nextBoolean()) {
            source = source.publishOn(times, 1 + random.nextInt(8));
        }
        if (end == 0) {
            source = source.concatWith(Flux.error(new IllegalStateException("failed on purpose")));
        }
        Receiver receiver = new Receiver(end == 1 ? cancelAfter : Integer.MAX_VALUE);
        Flux<Integer> charged = source.transform(
                limitRate(limiter, spec -> spec.key(key).cost(estimate).chargeElements(Integer::longValue)));
        if (end == 2) {
            receiver.leaveOn = times;
        } else if (end == 3 && random.nextBoolean()) {
            receiver.leaveAtOnceOn = times;
        }
        times.schedule(() -> charged.subscribe(receiver));
    }

    private final class Receiver extends BaseSubscriber<Integer> {

        private final int cancelAfter;
        private int received;

        /** Leaves on another thread, if there is an element at all. */
        private Scheduler leaveOn;

        /** Leaves on another thread, perhaps before there is anything. */
        private Scheduler leaveAtOnceOn;

        Receiver(int cancelAfter) {
            this.cancelAfter = cancelAfter;
        }

        @Override
        protected void hookOnSubscribe(Subscription subscription) {
            subscription.request(Long.MAX_VALUE);
            if (leaveAtOnceOn != null) {
                leaveAtOnceOn.schedule(this::dispose);
            }
        }

        @Override
        protected void hookOnNext(Integer cost) {
            delivered.addAndGet(cost);
            received++;
            if (received == cancelAfter) {
                cancel();
            } else if (received == 1 && leaveOn != null) {
                leaveOn.schedule(this::dispose);
            }
        }

        @Override
        protected void hookOnError(Throwable failure) {}

        @Override
        protected void hookFinally(SignalType type) {
            running.countDown();
        }
    }
}
