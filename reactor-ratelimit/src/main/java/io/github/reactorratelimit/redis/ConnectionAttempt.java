package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.redis.RedisConnector.Opened;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.util.Logger;
import reactor.util.Loggers;
import reactor.util.retry.Retry;

/**
 * Connects, and tries again for as long as that fails, at growing distances. Says in the log why, once for
 * each reason.
 *
 * <p>Closing and connecting may meet. Each first says so ({@code closed}, {@code known}) and then looks
 * whether the other has: so at least one of them sees both, and closes the connections. It is harmless if
 * both do.
 */
final class ConnectionAttempt {

    private static final Logger LOG = Loggers.getLogger(RedisConnections.class);

    private static final Retry UNTIL_CONNECTED =
            Retry.backoff(Long.MAX_VALUE, Duration.ofMillis(100)).maxBackoff(Duration.ofSeconds(5));

    private final @Nullable Mono<Opened> connecting;
    private final Sinks.One<Opened> connected = Sinks.one();
    private final AtomicBoolean begun = new AtomicBoolean();
    private final Disposable.Swap trying = Disposables.swap();
    private volatile @Nullable Opened known;
    private volatile @Nullable ConnectionCheck check;
    private volatile boolean closed;
    private volatile String reason = "not connected to Redis yet";

    private ConnectionAttempt(@Nullable Mono<Opened> connecting, @Nullable Opened known) {
        this.connecting = connecting;
        this.known = known;
    }

    /** @param connecting connects anew on each subscription */
    ConnectionAttempt(Mono<Opened> connecting) {
        this(connecting, null);
    }

    /** One that needs no attempt. */
    static ConnectionAttempt done(Opened opened) {
        ConnectionAttempt done = new ConnectionAttempt(null, opened);
        done.check = new ConnectionCheck(opened.connection(), opened.pubSub());
        done.connected.tryEmitValue(opened);
        return done;
    }

    boolean isLate() {
        return connecting != null;
    }

    /** Null if there is no connection yet. */
    @Nullable
    Opened known() {
        return known;
    }

    /** @throws RedisUnavailableException if there is no connection yet */
    Opened opened() {
        Opened there = known;
        if (there == null) {
            throw new RedisUnavailableException(reason);
        }
        return there;
    }

    /** Why there is no connection yet. */
    String reason() {
        return reason;
    }

    /** The connections as soon as they are there. */
    Mono<Opened> asMono() {
        return connected.asMono();
    }

    /** Begins to connect, once. */
    void begin() {
        Mono<Opened> source = connecting;
        if (source != null && begun.compareAndSet(false, true)) {
            trying.update(source.doOnNext(this::connect)
                    .then()
                    .doOnError(this::failed)
                    .retryWhen(UNTIL_CONNECTED)
                    .subscribe());
        }
    }

    private void failed(Throwable error) {
        String now = String.valueOf(error.getMessage());
        if (!now.equals(reason)) {
            reason = now;
            LOG.warn("Limits are decided without Redis until it can be connected to: {}", now);
        }
    }

    private void connect(Opened made) {
        check = new ConnectionCheck(made.connection(), made.pubSub());
        known = made;
        if (closed) {
            made.closing().subscribe();
        } else {
            LOG.info("Connected to Redis");
            connected.tryEmitValue(made);
        }
    }

    /** Another connection that is dead when the first one is. */
    void alsoCheck(StatefulRedisPubSubConnection<String, String> pubSub) {
        Opened there = known;
        if (there != null) {
            check = new ConnectionCheck(there.connection(), pubSub);
        }
    }

    /** Replaces connections that are dead. Delays nobody. */
    void check() {
        ConnectionCheck current = check;
        if (current != null) {
            current.run();
        }
    }

    Mono<Void> close() {
        return Mono.defer(() -> {
            closed = true;
            trying.dispose();
            Opened there = known;
            return there == null ? Mono.empty() : there.closing();
        });
    }
}
