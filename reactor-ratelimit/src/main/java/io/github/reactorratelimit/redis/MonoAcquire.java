package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.PermitsExceedCapacityException;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiterClosedException;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/** Acquires permits for each subscriber, when it requests. */
final class MonoAcquire extends Mono<Decision> {

    private final RedisPermits permits;
    private final RedisQueues queues;
    private final String limiter;
    private final String key;
    private final @Nullable RateLimitPolicy override;
    private final Command command;

    /** @param limiter its name, for errors */
    MonoAcquire(
            RedisPermits permits,
            RedisQueues queues,
            String limiter,
            String key,
            @Nullable RateLimitPolicy override,
            long count) {
        this.permits = permits;
        this.queues = queues;
        this.limiter = limiter;
        this.key = key;
        this.override = override;
        this.command = Command.acquire(count);
    }

    @Override
    public void subscribe(CoreSubscriber<? super Decision> actual) {
        Request request;
        try {
            request = new Request(this, permits.commands().versions().script(override), actual);
        } catch (IllegalArgumentException inexact) {
            Operators.error(actual, inexact);
            return;
        }
        actual.onSubscribe(request);
    }

    /**
     * One request and its subscriber. What is known in this process is answered at once, on the thread that
     * requests. Otherwise this object is the command on its way, and its reply is delivered on its executor.
     */
    private static final class Request extends PendingCommand implements Subscription {

        /** Nothing requested yet. */
        private static final int SUBSCRIBED = 0;

        /** Requested. Either the answer leaves this state, or the subscriber. */
        private static final int REQUESTED = 1;

        private static final int DONE = 2;

        private static final int CANCELLED = 3;

        private static final AtomicIntegerFieldUpdater<Request> PHASE =
                AtomicIntegerFieldUpdater.newUpdater(Request.class, "phase");

        private static final AtomicReferenceFieldUpdater<Request, DenialCache.@Nullable Known> CLAIMED =
                AtomicReferenceFieldUpdater.newUpdater(Request.class, DenialCache.Known.class, "claimed");

        private final MonoAcquire source;
        private final CoreSubscriber<? super Decision> actual;
        private volatile int phase = SUBSCRIBED;

        /** Where its permits are claimed while it is in flight. */
        private volatile DenialCache.@Nullable Known claimed;

        /** Of what is known of the key, read before it was sent. */
        private long generation;

        Request(MonoAcquire source, ScriptPolicy policy, CoreSubscriber<? super Decision> actual) {
            super(
                    source.permits.commands().commands(),
                    source.key,
                    policy,
                    source.command,
                    source.permits.commands().commands().executorFor(actual.currentContext()));
            this.source = source;
            this.actual = actual;
        }

        @Override
        public void request(long n) {
            if (Operators.validate(n) && PHASE.compareAndSet(this, SUBSCRIBED, REQUESTED)) {
                try {
                    acquire();
                } catch (LinkageError brokenClassPath) {
                    fail(brokenClassPath);
                } catch (Throwable thrown) {
                    Exceptions.throwIfFatal(thrown);
                    fail(thrown);
                }
            }
        }

        private void acquire() {
            long count = command.permits();
            if (source.queues.isClosed()) {
                fail(new RateLimiterClosedException(source.limiter));
                return;
            }
            if (source.queues.hasWaiters(key)) {
                follow(behindWaiters());
                return;
            }
            Decision known = source.permits.decideNow(key, policy, count);
            if (known != null) {
                succeed(known);
                return;
            }
            generation = source.permits.denials().generation(key);
            if (!source.permits.commands().isInEffect(policy, source.override)) {
                long sentNanos = source.permits.now();
                follow(source.permits.acquire(
                        key,
                        source.override,
                        count,
                        reply -> source.permits.learn(key, source.override, reply, generation, sentNanos)));
            } else if (count > policy.policy().capacity()) {
                fail(new PermitsExceedCapacityException(count, policy.policy().capacity()));
            } else {
                claimed = source.permits.denials().claim(key, policy, count);
                limiter.send(this);
                if (phase == CANCELLED) {
                    releaseClaim();
                }
            }
        }

        private void releaseClaim() {
            DenialCache.Known known = claimed == null ? null : CLAIMED.getAndSet(this, null);
            if (known != null) {
                known.release(command.permits());
            }
        }

        private Mono<Decision> behindWaiters() {
            long count = command.permits();
            return source.queues.hasUnknownWaiters(key)
                    ? source.permits.denyBehindWaiters(key, source.override, count)
                    : source.queues
                            .reserving()
                            .behind(key)
                            .then(source.permits.acquire(key, source.override, count, reply -> {}));
        }

        @Override
        protected void succeeded(CommandReply reply) {
            releaseClaim();
            Decision decision = source.permits.decided(key, source.override, reply, generation, sentNanos());
            if (decision == null) {
                source.permits.prepaid().refundNow(key);
                acquireAgain(0);
            } else {
                succeed(decision);
            }
        }

        @Override
        protected void failed(Throwable error) {
            releaseClaim();
            long count = command.permits();
            if (error instanceof RedisUnavailableException) {
                source.permits.degraded(key, source.override, count).subscribe(this::succeed, this::fail);
            } else if (error instanceof NewerVersionException newer) {
                acquireAgain(newer.version());
            } else {
                fail(error);
            }
        }

        /** Under this version of the policy or a newer one, within the deadline of the first command. */
        private void acquireAgain(long version) {
            follow(source.permits.acquireAgain(key, source.override, command.permits(), sentNanos(), version));
        }

        private long sentNanos() {
            return deadlineNanos - source.permits.commands().deadlineNanos();
        }

        @Override
        protected void unused(CommandReply reply) {
            source.permits.refundUnused(reply.toDecision(source.permits.owner(), key));
        }

        @Override
        public void cancel() {
            if (!PHASE.compareAndSet(this, SUBSCRIBED, CANCELLED) && PHASE.compareAndSet(this, REQUESTED, CANCELLED)) {
                super.cancel();
                releaseClaim();
            }
        }

        /**
         * Brings the decision of another road. It goes on when the subscriber cancels: then what it debited
         * is refunded.
         */
        private void follow(Mono<Decision> decided) {
            decided.subscribe(
                    decision -> ReplyExecutor.deliver(executor, () -> succeed(decision)),
                    error -> ReplyExecutor.deliver(executor, () -> fail(error)));
        }

        private void succeed(Decision decision) {
            if (PHASE.compareAndSet(this, REQUESTED, DONE)) {
                actual.onNext(decision);
                actual.onComplete();
            } else {
                source.permits.refundUnused(decision);
            }
        }

        private void fail(Throwable error) {
            if (PHASE.compareAndSet(this, REQUESTED, DONE)) {
                actual.onError(error);
            }
        }
    }
}
