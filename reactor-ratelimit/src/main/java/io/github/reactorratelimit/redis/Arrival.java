package io.github.reactorratelimit.redis;

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
 * Connects aside, and tries again for as long as that fails, at growing distances. Says in the log why, once for each reason.
 *
 * <p>Closing and arriving may meet. Each first says so ({@code closed}, {@code link}) and then looks whether the other has: so at least one
 * of them sees both, and closes what arrived. That both do is harmless. What the source delivers is received right behind it, where no operator
 * can drop it because somebody further down has left.
 */
final class Arrival {

    private static final Logger LOG = Loggers.getLogger(RedisStore.class);

    private static final Retry UNTIL_THERE =
            Retry.backoff(Long.MAX_VALUE, Duration.ofMillis(100)).maxBackoff(Duration.ofSeconds(5));

    private final Mono<RedisLink> connecting;
    private final Sinks.One<RedisLink> arrived = Sinks.one();
    private final AtomicBoolean begun = new AtomicBoolean();
    private final Disposable.Swap trying = Disposables.swap();
    private volatile @Nullable RedisLink link;
    private volatile boolean closed;
    private volatile String reason = "not connected to Redis yet";

    /** @param connecting connects anew on each subscription */
    Arrival(Mono<RedisLink> connecting) {
        this.connecting = connecting;
    }

    /** Null if there is no connection yet. */
    @Nullable
    RedisLink link() {
        return link;
    }

    /** Why there is no connection yet. */
    String reason() {
        return reason;
    }

    /** The connection as soon as it is there. */
    Mono<RedisLink> asMono() {
        return arrived.asMono();
    }

    /** Begins to connect, once. */
    void begin() {
        if (begun.compareAndSet(false, true)) {
            trying.update(connecting
                    .doOnNext(this::arrive)
                    .then()
                    .doOnError(this::failed)
                    .retryWhen(UNTIL_THERE)
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

    private void arrive(RedisLink made) {
        link = made;
        if (closed) {
            made.close().subscribe();
        } else {
            LOG.info("Connected to Redis");
            arrived.tryEmitValue(made);
        }
    }

    Mono<Void> close() {
        return Mono.defer(() -> {
            closed = true;
            trying.dispose();
            RedisLink there = link;
            return there == null ? Mono.empty() : there.close();
        });
    }
}
