package io.github.reactorratelimit.redis;

import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.api.async.BaseRedisAsyncCommands;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.util.Logger;
import reactor.util.Loggers;

/**
 * The signals of all limiters of a store over one pub/sub connection: a channel for each limiter name, subscribed while a
 * limiter of that name is open. Sends on the connection for commands, which a subscribed one may not be used for.
 *
 * <p>A subscription counts from the server's confirmation. Lettuce renews confirmed ones after a reconnect; those that failed
 * while there was no connection are sent again here.
 */
final class SignalHub {

    private static final Logger LOG = Loggers.getLogger(SignalHub.class);

    private final BaseRedisAsyncCommands<String, String> commands;
    private final StatefulRedisPubSubConnection<String, String> connection;
    private final Map<String, List<Member>> channels = new ConcurrentHashMap<>();
    private final LongAdder lost = new LongAdder();

    SignalHub(
            BaseRedisAsyncCommands<String, String> commands, StatefulRedisPubSubConnection<String, String> connection) {
        this.commands = commands;
        this.connection = connection;
        connection.addListener(new Ear());
        connection.addListener(new Reconnects());
    }

    StatefulRedisPubSubConnection<String, String> connection() {
        return connection;
    }

    /** The signals of one limiter; limiters of one name share the channel. */
    Signals open(String channel) {
        return new Member(channel);
    }

    /** Signals that could not be sent. */
    long lost() {
        return lost.sum();
    }

    /** Channels that somebody listens to. */
    int channels() {
        return channels.size();
    }

    /** For the self-test: no signal, so nobody minds. */
    RedisFuture<Long> publishNothing(String channel) {
        return commands.publish(channel, "");
    }

    RedisFuture<Void> subscribeTo(String channel) {
        return connection.async().subscribe(channel);
    }

    RedisFuture<Void> unsubscribeFrom(String channel) {
        return connection.async().unsubscribe(channel);
    }

    private void join(Member member) {
        List<Member> members = channels.compute(member.channel, (name, others) -> {
            List<Member> all = new ArrayList<>(others == null ? List.of() : others);
            all.add(member);
            return List.copyOf(all);
        });
        if (members.size() == 1) {
            subscribe(member.channel);
        } else {
            member.tell(Signals.Listener::reconnected);
        }
    }

    private void leave(Member member) {
        List<Member> left = channels.computeIfPresent(member.channel, (name, all) -> {
            List<Member> others = all.stream().filter(other -> other != member).toList();
            return others.isEmpty() ? null : others;
        });
        if (left == null) {
            attempt(() -> unsubscribeFrom(member.channel));
        }
    }

    private void subscribe(String... names) {
        attempt(() -> connection.async().subscribe(names)).exceptionally(error -> {
            LOG.warn("No signals from other processes for now: cannot subscribe, {}", error.toString());
            return null;
        });
    }

    private void tell(String channel, Consumer<Signals.Listener> news) {
        channels.getOrDefault(channel, List.of()).forEach(member -> member.tell(news));
    }

    /** Lettuce throws what it knows at once, and completes with the rest. */
    private static <T> CompletionStage<T> attempt(Supplier<? extends CompletionStage<T>> command) {
        try {
            return command.get();
        } catch (Throwable e) {
            // Whatever it is: a signal that counts as under way is not sent again.
            return CompletableFuture.failedFuture(e);
        }
    }

    private final class Ear extends RedisPubSubAdapter<String, String> {

        @Override
        public void message(String channel, String message) {
            Signals.Signal.parse(message)
                    .ifPresent(signal -> tell(channel, listener -> listener.heard(signal.kind(), signal.subject())));
        }

        @Override
        public void subscribed(String channel, long count) {
            tell(channel, Signals.Listener::reconnected);
        }

        /** A limiter may have opened while the last of its name closed, or another store shares the connection. */
        @Override
        public void unsubscribed(String channel, long count) {
            if (channels.containsKey(channel)) {
                subscribe(channel);
            }
        }
    }

    private final class Reconnects implements RedisConnectionStateListener {

        @Override
        public void onRedisConnected(RedisChannelHandler<?, ?> handler, SocketAddress address) {
            String[] names = channels.keySet().toArray(String[]::new);
            if (names.length > 0) {
                subscribe(names);
            }
        }
    }

    /** One limiter's ear and mouth. */
    private final class Member implements Signals {

        private enum Sending {
            /** Under way. */
            ONCE,
            /** Under way, and published again since. */
            AGAIN
        }

        private final String channel;
        private final Map<String, Sending> underWay = new ConcurrentHashMap<>();
        private volatile @Nullable Listener listener;

        Member(String channel) {
            this.channel = channel;
        }

        @Override
        public void listen(Listener listener) {
            this.listener = listener;
            join(this);
        }

        void tell(Consumer<Listener> news) {
            Listener told = listener;
            if (told != null) {
                try {
                    news.accept(told);
                } catch (RuntimeException e) {
                    LOG.error("A signal was not understood", e);
                }
            }
        }

        @Override
        public void publish(Kind kind, String subject) {
            String message = kind.message(subject);
            Sending now = underWay.compute(message, (same, was) -> was == null ? Sending.ONCE : Sending.AGAIN);
            if (now == Sending.ONCE) {
                send(message);
            }
        }

        private void send(String message) {
            attempt(() -> commands.publish(channel, message)).whenComplete((heardBy, error) -> {
                if (error != null) {
                    lost.increment();
                    underWay.remove(message);
                } else if (underWay.computeIfPresent(message, (same, was) -> was == Sending.AGAIN ? Sending.ONCE : null)
                        != null) {
                    send(message);
                }
            });
        }

        @Override
        public Mono<Void> close() {
            return Mono.fromRunnable(() -> {
                if (listener != null) {
                    listener = null;
                    leave(this);
                }
            });
        }
    }
}
