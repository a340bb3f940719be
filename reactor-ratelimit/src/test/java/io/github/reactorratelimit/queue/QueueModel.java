package io.github.reactorratelimit.queue;

import static org.jetbrains.lincheck.datastructures.ManagedStrategyGuaranteeKt.forClasses;

import io.github.reactorratelimit.LimiterSettings;
import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimitRecorder.WaitOutcome;
import io.github.reactorratelimit.TokenBucket;
import io.github.reactorratelimit.algorithm.Algorithm;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.Validate;
import org.jetbrains.lincheck.datastructures.verifier.EpsilonVerifier;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.scheduler.Schedulers;

/**
 * One key and its queue, worked by several threads whose steps Lincheck interleaves in every order: waiters join and cancel, permits come,
 * a pause holds them back, the limiter closes. Run by {@link QueueModelCheckTest} in its own process.
 */
@Param(name = "waiter", gen = IntGen.class, conf = "0:2")
public class QueueModel {

    private static final int WAITERS = 3;

    private final KeyQueues<Request, PermitQueue> queues = new KeyQueues<>(
            new LimiterSettings(
                    "model",
                    TokenBucket.perSecond(1),
                    Schedulers.parallel(),
                    Schedulers.immediate(),
                    RateLimitRecorder.NOOP,
                    WAITERS,
                    true),
            PermitQueue::new);
    private final AtomicInteger permits = new AtomicInteger();
    private final AtomicInteger given = new AtomicInteger();
    private volatile boolean paused;
    private volatile boolean closed;
    private final AtomicReferenceArray<@Nullable Request> requests = new AtomicReferenceArray<>(WAITERS);

    /** @param arguments the number of scenarios, and of interleavings of each */
    public static void main(String[] arguments) {
        new ModelCheckingOptions()
                .iterations(Integer.parseInt(arguments[0]))
                .invocationsPerIteration(Integer.parseInt(arguments[1]))
                .threads(2)
                .actorsPerThread(3)
                .actorsBefore(1)
                .actorsAfter(0)
                .minimizeFailedScenario(false)
                .verifier(EpsilonVerifier.class)
                .addGuarantee(forClasses(QueueModel::isTrusted).allMethods().treatAsAtomic())
                .check(QueueModel.class);
    }

    /** Code of other projects is taken for one step. */
    private static boolean isTrusted(String name) {
        return name.startsWith("reactor.") || name.startsWith("java.");
    }

    @Operation
    public void join(@Param(name = "waiter") int index) {
        Request request = new Request();
        if (requests.compareAndSet(index, null, request)) {
            request.start();
        }
    }

    @Operation
    public void cancel(@Param(name = "waiter") int index) {
        Request request = requests.get(index);
        if (request != null) {
            request.cancelled = true;
            request.waiter.cancel();
        }
    }

    @Operation
    public void grant() {
        given.incrementAndGet();
        comeBack();
    }

    @Operation
    public void pause() {
        paused = true;
    }

    @Operation
    public void resume() {
        paused = false;
        queues.forEachQueue(DrainLoop::signal);
    }

    @Operation(runOnce = true)
    public void close() {
        closed = true;
        queues.close().subscribe();
    }

    private void comeBack() {
        permits.incrementAndGet();
        queues.forEachQueue(DrainLoop::signal);
    }

    /** Every permit is delivered once or still there, and no waiter is forgotten. */
    @Validate
    public void check() {
        int delivered = 0;
        for (int i = 0; i < WAITERS; i++) {
            Request request = requests.get(i);
            if (request != null) {
                delivered += request.granted.get();
                int signals = request.granted.get() + request.failed.get();
                if (signals > 1) {
                    throw new IllegalStateException("waiter " + i + " was signalled " + signals + " times");
                }
                boolean isDue = closed || (permits.get() > 0 && !paused);
                if (signals == 0 && !request.cancelled && isDue) {
                    throw new IllegalStateException("waiter " + i + " is forgotten");
                }
            }
        }
        if (delivered + permits.get() != given.get()) {
            throw new IllegalStateException(delivered + " delivered and " + permits + " left of " + given);
        }
    }

    /** A request and its subscriber, which counts its signals. */
    private final class Request implements QueuedRequest, CoreSubscriber<Object> {

        private final AtomicInteger granted = new AtomicInteger();
        private final AtomicInteger failed = new AtomicInteger();
        private final Waiter<Request> waiter = queues.waiter(this, this, 1, Long.MAX_VALUE);
        private volatile boolean cancelled;

        void start() {
            waiter.request(1);
        }

        @Override
        public String key() {
            return "key";
        }

        @Override
        public long now() {
            return 0;
        }

        @Override
        public void giveBack(Object undelivered) {
            comeBack();
        }

        @Override
        public void onSubscribe(Subscription subscription) {}

        @Override
        public void onNext(Object value) {
            granted.incrementAndGet();
        }

        @Override
        public void onError(Throwable error) {
            failed.incrementAndGet();
        }

        @Override
        public void onComplete() {}
    }

    /** Grants what is there, in order of arrival. */
    private final class PermitQueue extends KeyQueue<Request> {

        PermitQueue(QueueRuntime runtime, Request first) {
            super(runtime, first);
        }

        @Override
        protected void admit(Waiter<Request> newcomer, long now) {}

        @Override
        protected long serve(long now) {
            for (Waiter<Request> head = first(); head != null && take(); head = first()) {
                if (!answer(head, 1, WaitOutcome.GRANTED)) {
                    permits.incrementAndGet();
                }
            }
            return Algorithm.UNKNOWN;
        }

        private boolean take() {
            return !paused && permits.getAndUpdate(left -> Math.max(0, left - 1)) > 0;
        }

        @Override
        protected void deny(Waiter<Request> waiter, long now, long grantedAt) {
            throw new IllegalStateException("no waiter has a deadline");
        }
    }
}
