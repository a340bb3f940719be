package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.LimiterSettings;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.RedisPubSubListener;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Mono;
import reactor.util.Logger;
import reactor.util.Loggers;

/**
 * The channel on which the processes that share a limiter tell each other what changed. A signal is a hint:
 * it may be lost, late or doubled. A limiter does not hear its own signals. Without a connection for signals
 * nothing is sent or heard.
 *
 * <p>All processes hear a signal at the same moment. So what makes their waiters request permits again is
 * passed on a little later, at random: freed permits, and the end of an interruption.
 */
final class SignalChannel {

    /** What happened; in a message one character. */
    enum Kind {
        /** Permits of a key came back. */
        FREED('f'),
        /** The pause of a key changed. */
        PAUSED('p'),
        /** A key was reset, or has another policy. */
        RESET('r'),
        /** There is a new policy version; the subject is its number. */
        VERSION('v');

        private final char code;

        Kind(char code) {
            this.code = code;
        }

        static @Nullable Kind of(char code) {
            for (Kind kind : values()) {
                if (kind.code == code) {
                    return kind;
                }
            }
            return null;
        }
    }

    /** Hears signals on threads of the connection or the limiter's scheduler; must not block. */
    interface Listener {

        void heard(Kind kind, String subject);

        /** From here on signals arrive; before it any number may have been missed. */
        void reconnected();
    }

    static final Duration FREED_JITTER = Duration.ofMillis(4);
    static final Duration RECONNECT_JITTER = Duration.ofMillis(100);

    private static final Logger LOG = Loggers.getLogger(SignalChannel.class);

    private enum Sending {
        /** In flight. */
        ONCE,
        /** In flight, and published again since. */
        AGAIN
    }

    private final RedisConnections connections;
    private final LimiterSettings settings;
    private final String channel;
    private final String sender =
            Long.toString(ThreadLocalRandom.current().nextLong(Long.MAX_VALUE), Character.MAX_RADIX) + " ";
    private final Map<String, Sending> inFlight = new ConcurrentHashMap<>();
    private final Set<String> freed = ConcurrentHashMap.newKeySet();
    private final Disposable.Composite subscription = Disposables.composite();

    SignalChannel(RedisConnections connections, RedisKeys keys, LimiterSettings settings) {
        this.connections = connections;
        this.settings = settings;
        this.channel = keys.signalChannel();
    }

    boolean isConnected() {
        return connections.hasPubSub();
    }

    /** Called once, before anything is published. */
    void listen(Listener listener) {
        if (isConnected()) {
            subscription.add(connections
                    .pubSub()
                    .subscribe(connection -> subscription.add(new Subscribed(connection, listener))));
        }
    }

    /**
     * Tells the other processes. Never blocks, never throws; what cannot be sent is lost. While a signal is
     * in flight an equal one is not sent beside it but once after it: a key costs at most one message per
     * round trip.
     */
    void publish(Kind kind, String subject) {
        if (isConnected()) {
            tell(kind, subject);
        }
    }

    /** {@link #publish}, also without a connection for signals: other processes may have one. */
    void tell(Kind kind, String subject) {
        String message = kind.code + sender + RedisKeys.escape(subject);
        Sending state = inFlight.compute(message, (same, was) -> was == null ? Sending.ONCE : Sending.AGAIN);
        if (state == Sending.ONCE) {
            send(message);
        }
    }

    /** Whether a signal is in flight. */
    boolean isSending() {
        return !inFlight.isEmpty();
    }

    private void send(String message) {
        attempt(() -> connections.commands().publish(channel, message)).whenComplete((receivers, error) -> {
            if (error != null) {
                inFlight.remove(message);
            } else if (inFlight.computeIfPresent(message, (same, was) -> was == Sending.AGAIN ? Sending.ONCE : null)
                    != null) {
                send(message);
            }
        });
    }

    /** Lettuce throws what it knows at once, and completes with the rest. */
    private static <T> CompletionStage<T> attempt(Supplier<? extends CompletionStage<T>> command) {
        try {
            return command.get();
        } catch (Throwable e) {
            // Whatever it is: a signal that counts as in flight is not sent again.
            return CompletableFuture.failedFuture(e);
        }
    }

    /** Hears nothing from here on. Any number of calls. */
    Mono<Void> close() {
        return Mono.fromRunnable(subscription::dispose);
    }

    /**
     * Lettuce renews confirmed subscriptions after a reconnect; those that failed while there was none are
     * sent again here.
     */
    private final class Subscribed extends RedisPubSubAdapter<String, String>
            implements RedisConnectionStateListener, Disposable {

        private final StatefulRedisPubSubConnection<String, String> connection;
        private final Listener listener;
        private final AtomicBoolean reconnecting = new AtomicBoolean();
        private volatile boolean disposed;

        Subscribed(StatefulRedisPubSubConnection<String, String> connection, Listener listener) {
            this.connection = connection;
            this.listener = listener;
            connection.addListener((RedisConnectionStateListener) this);
            connection.addListener((RedisPubSubListener<String, String>) this);
            subscribe();
        }

        private void subscribe() {
            attempt(() -> connection.async().subscribe(channel)).exceptionally(error -> {
                LOG.warn("No signals from other processes for now: cannot subscribe, {}", error.toString());
                return null;
            });
        }

        @Override
        public void onRedisConnected(RedisChannelHandler<?, ?> handler, SocketAddress address) {
            if (!disposed) {
                subscribe();
            }
        }

        @Override
        public void subscribed(String name, long count) {
            if (name.equals(channel) && reconnecting.compareAndSet(false, true)) {
                later(RECONNECT_JITTER, () -> {
                    reconnecting.set(false);
                    listener.reconnected();
                });
            }
        }

        /** Another limiter of this name closed, or another store uses the connection. */
        @Override
        public void unsubscribed(String name, long count) {
            if (name.equals(channel) && !disposed) {
                subscribe();
            }
        }

        /** What is no signal is left alone: other versions, or strangers, may use the channel. */
        @Override
        public void message(String name, String message) {
            int blank = message.indexOf(' ') + 1;
            Kind kind = blank < 2 ? null : Kind.of(message.charAt(0));
            if (kind == null || !name.equals(channel) || message.startsWith(sender, 1)) {
                return;
            }
            RedisKeys.unescape(message.substring(blank)).ifPresent(subject -> heard(kind, subject));
        }

        private void heard(Kind kind, String subject) {
            if (kind != Kind.FREED) {
                tell(() -> listener.heard(kind, subject));
            } else if (freed.add(subject)) {
                later(FREED_JITTER, () -> {
                    freed.remove(subject);
                    listener.heard(Kind.FREED, subject);
                });
            }
        }

        private void later(Duration atMost, Runnable news) {
            try {
                long nanos = ThreadLocalRandom.current().nextLong(atMost.toNanos());
                settings.scheduler().schedule(() -> tell(news), nanos, TimeUnit.NANOSECONDS);
            } catch (RejectedExecutionException gone) {
                tell(news);
            }
        }

        private void tell(Runnable news) {
            if (!disposed) {
                try {
                    news.run();
                } catch (RuntimeException e) {
                    LOG.error("A signal could not be handled", e);
                }
            }
        }

        @Override
        public void dispose() {
            disposed = true;
            connection.removeListener((RedisConnectionStateListener) this);
            connection.removeListener((RedisPubSubListener<String, String>) this);
            attempt(() -> connection.async().unsubscribe(channel));
        }

        @Override
        public boolean isDisposed() {
            return disposed;
        }
    }
}
