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
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
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

        static Optional<Kind> of(char code) {
            return Stream.of(values()).filter(kind -> kind.code == code).findFirst();
        }
    }

    static final Duration FREED_JITTER = Duration.ofMillis(4);
    static final Duration RECONNECT_JITTER = Duration.ofMillis(100);

    private static final Object RECONNECT = new Object();

    private static final Logger LOG = Loggers.getLogger(SignalChannel.class);

    private final RedisConnections connections;
    private final LimiterSettings settings;
    private final String channel;
    private final String sender =
            Long.toString(ThreadLocalRandom.current().nextLong(Long.MAX_VALUE), Character.MAX_RADIX) + " ";

    /** The messages in flight; 2 if it was published again since. */
    private final Map<String, Integer> inFlight = new ConcurrentHashMap<>();

    /** What will be passed on later: keys with freed permits, and {@link #RECONNECT}. */
    private final Set<Object> pending = ConcurrentHashMap.newKeySet();

    private final Disposable.Composite subscription = Disposables.composite();

    SignalChannel(RedisConnections connections, RedisKeys keys, LimiterSettings settings) {
        this.connections = connections;
        this.settings = settings;
        this.channel = keys.signalChannel();
    }

    boolean isConnected() {
        return connections.hasPubSub();
    }

    /**
     * Called once, before anything is published. Both are called on threads of the connection or the limiter's
     * scheduler; they must not block.
     *
     * @param listener hears signals
     * @param reconnected runs when signals begin to arrive; before it any number may have been missed
     */
    void listen(BiConsumer<Kind, String> listener, Runnable reconnected) {
        if (isConnected()) {
            subscription.add(connections
                    .pubSub()
                    .subscribe(connection -> subscription.add(new Subscribed(connection, listener, reconnected))));
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
        if (inFlight.merge(message, 1, (was, one) -> 2) == 1) {
            send(message);
        }
    }

    /** Whether a signal is in flight. */
    boolean isSending() {
        return !inFlight.isEmpty();
    }

    private void send(String message) {
        Mono.fromCompletionStage(() -> connections.commands().publish(channel, message))
                .subscribe(receivers -> {}, lost -> inFlight.remove(message), () -> sent(message));
    }

    private void sent(String message) {
        if (inFlight.computeIfPresent(message, (same, count) -> count == 2 ? 1 : null) != null) {
            send(message);
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
        private final BiConsumer<Kind, String> listener;
        private final Runnable reconnected;
        private volatile boolean disposed;

        Subscribed(
                StatefulRedisPubSubConnection<String, String> connection,
                BiConsumer<Kind, String> listener,
                Runnable reconnected) {
            this.connection = connection;
            this.listener = listener;
            this.reconnected = reconnected;
            connection.addListener((RedisConnectionStateListener) this);
            connection.addListener((RedisPubSubListener<String, String>) this);
            subscribe();
        }

        private void subscribe() {
            Mono.fromCompletionStage(() -> connection.async().subscribe(channel))
                    .subscribe(
                            done -> {},
                            error -> LOG.warn(
                                    "No signals from other processes for now: cannot subscribe, {}", error.toString()));
        }

        @Override
        public void onRedisConnected(RedisChannelHandler<?, ?> handler, SocketAddress address) {
            if (!disposed) {
                subscribe();
            }
        }

        @Override
        public void subscribed(String name, long count) {
            if (name.equals(channel)) {
                later(RECONNECT, RECONNECT_JITTER, reconnected);
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
            if (blank > 1 && name.equals(channel) && !message.startsWith(sender, 1)) {
                Kind.of(message.charAt(0))
                        .ifPresent(kind -> RedisKeys.unescape(message.substring(blank))
                                .ifPresent(subject -> heard(kind, subject)));
            }
        }

        private void heard(Kind kind, String subject) {
            if (kind == Kind.FREED) {
                later(subject, FREED_JITTER, () -> listener.accept(kind, subject));
            } else {
                pass(() -> listener.accept(kind, subject));
            }
        }

        /** Once, however often it comes until then. */
        private void later(Object news, Duration atMost, Runnable passed) {
            if (!pending.add(news)) {
                return;
            }
            Runnable task = () -> {
                pending.remove(news);
                pass(passed);
            };
            try {
                long nanos = ThreadLocalRandom.current().nextLong(atMost.toNanos());
                settings.scheduler().schedule(task, nanos, TimeUnit.NANOSECONDS);
            } catch (RejectedExecutionException gone) {
                task.run();
            }
        }

        private void pass(Runnable news) {
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
            Mono.fromCompletionStage(() -> connection.async().unsubscribe(channel))
                    .subscribe(done -> {}, gone -> {});
        }

        @Override
        public boolean isDisposed() {
            return disposed;
        }
    }
}
