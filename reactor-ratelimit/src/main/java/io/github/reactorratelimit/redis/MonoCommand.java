package io.github.reactorratelimit.redis;

import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/** Sends a command when a subscriber requests, and signals its reply on the thread that brings it. */
final class MonoCommand extends Mono<CommandReply> {

    private final LimiterCommands limiter;
    private final String key;
    private final ScriptPolicy policy;
    private final Command command;

    MonoCommand(LimiterCommands limiter, String key, ScriptPolicy policy, Command command) {
        this.limiter = limiter;
        this.key = key;
        this.policy = policy;
        this.command = command;
    }

    @Override
    public void subscribe(CoreSubscriber<? super CommandReply> actual) {
        actual.onSubscribe(new Sent(this, actual));
    }

    private static final class Sent extends PendingCommand implements Subscription {

        private final CoreSubscriber<? super CommandReply> actual;
        private boolean requested;
        private volatile boolean cancelled;

        Sent(MonoCommand mono, CoreSubscriber<? super CommandReply> actual) {
            super(mono.limiter, mono.key, mono.policy, mono.command, null);
            this.actual = actual;
        }

        @Override
        public void request(long n) {
            if (Operators.validate(n) && !requested) {
                requested = true;
                limiter.send(this);
            }
        }

        @Override
        public void cancel() {
            cancelled = true;
            super.cancel();
        }

        @Override
        protected void succeeded(CommandReply reply) {
            actual.onNext(reply);
            actual.onComplete();
        }

        @Override
        protected void failed(Throwable error) {
            if (!cancelled) {
                actual.onError(error);
            }
        }
    }
}
