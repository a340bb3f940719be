package io.github.reactorratelimit.queue;

import static org.jetbrains.lincheck.datastructures.ManagedStrategyGuaranteeKt.forClasses;

import io.github.reactorratelimit.RateLimitRecorder;
import io.github.reactorratelimit.RateLimitRecorder.WaitOutcome;
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

    private final QueueRuntime runtime =
            new QueueRuntime("model", Schedulers.parallel(), Schedulers.immediate(), RateLimitRecorder.NOOP);
    private final Queues queues = new Queues(runtime);
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
        runtime.close().subscribe();
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

    /** A subscriber that counts its signals. */
    private final class Request implements CoreSubscriber<Integer> {

        private final Waiter<Integer> waiter = new Waiting(this);
        private final AtomicInteger granted = new AtomicInteger();
        private final AtomicInteger failed = new AtomicInteger();
        private volatile boolean cancelled;

        void start() {
            waiter.request(1);
        }

        @Override
        public void onSubscribe(Subscription subscription) {}

        @Override
        public void onNext(Integer value) {
            granted.incrementAndGet();
        }

        @Override
        public void onError(Throwable error) {
            failed.incrementAndGet();
        }

        @Override
        public void onComplete() {}
    }

    private final class Waiting extends Waiter<Integer> {

        Waiting(Request request) {
            super(runtime, request, 1, Long.MAX_VALUE);
        }

        @Override
        protected void join() {
            if (runtime.isClosed()) {
                claim(runtime.closedException());
            } else {
                arriveAt(0);
                queues.join("key", this, PermitQueue::new);
            }
        }

        @Override
        protected void leave() {
            queues.leave("key", this);
        }

        @Override
        protected void refund(Integer undelivered) {
            comeBack();
        }
    }

    private static final class Queues extends KeyQueues<Waiter<Integer>, PermitQueue> {

        Queues(QueueRuntime runtime) {
            super(runtime);
        }
    }

    /** Grants what is there, in order of arrival. */
    private final class PermitQueue extends KeyQueue<Waiter<Integer>, WaiterList<Waiter<Integer>>> {

        PermitQueue() {
            super(runtime, new WaiterList<>());
        }

        @Override
        public long now() {
            return 0;
        }

        @Override
        protected void admit(Waiter<Integer> newcomer, long now) {}

        @Override
        protected long serve(long now) {
            for (Waiter<Integer> head = waiters.first(); head != null && take(); head = waiters.first()) {
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
        protected void deny(Waiter<Integer> waiter, long now, long grantedAt) {
            throw new IllegalStateException("no waiter has a deadline");
        }
    }
}
