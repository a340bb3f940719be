package io.github.reactorratelimit.redis;

import io.lettuce.core.CommandListenerWriter;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisChannelWriter;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.protocol.CommandExpiryWriter;
import io.lettuce.core.protocol.DefaultEndpoint;
import java.time.Duration;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.util.Logger;
import reactor.util.Loggers;

/**
 * Finds connections that are dead though they look open, because the network dropped them without a word.
 * After a missed deadline each connection gets a PING; one that does not answer it in time is closed, and
 * Lettuce connects again.
 */
final class ConnectionCheck {

    private static final Logger LOG = Loggers.getLogger(ConnectionCheck.class);

    /** How long a PING may stay unanswered. */
    static final Duration DEAD_AFTER = Duration.ofSeconds(2);

    private final RedisConnector.Opened opened;
    private final AtomicBoolean running = new AtomicBoolean();

    /** A connection for signals is closed with a dead one: whatever dropped one has dropped the other. */
    ConnectionCheck(RedisConnector.Opened opened) {
        this.opened = opened;
    }

    /** Checks once, unless a check is running. */
    void run() {
        if (running.compareAndSet(false, true)) {
            opened.servers()
                    .flatMap(server -> server.connection().onErrorComplete())
                    .flatMap(ConnectionCheck::isDead)
                    .doFinally(end -> running.set(false))
                    .subscribe(this::replace, unreachable -> LOG.debug("Connections were not checked", unreachable));
        }
    }

    /** The connection if it is dead. Any answer to the PING shows that it is not, an error too. */
    private static Mono<StatefulRedisConnection<String, String>> isDead(
            StatefulRedisConnection<String, String> suspect) {
        return Mono.fromCompletionStage(() -> suspect.async().ping())
                .timeout(DEAD_AFTER, Schedulers.parallel())
                .then(Mono.<StatefulRedisConnection<String, String>>empty())
                .onErrorResume(TimeoutException.class, unanswered -> Mono.just(suspect))
                .onErrorComplete()
                .filter(StatefulConnection::isOpen);
    }

    private void replace(StatefulRedisConnection<String, String> dead) {
        DefaultEndpoint endpoint = endpoint(dead);
        if (endpoint == null || !dead.getOptions().isAutoReconnect()) {
            LOG.warn(
                    "A connection to Redis has not answered for {}. It cannot be replaced here: it has no automatic"
                            + " reconnect, or is of an unknown kind.",
                    DEAD_AFTER);
            return;
        }
        LOG.warn("A connection to Redis has not answered for {}: it is closed, and made again.", DEAD_AFTER);
        endpoint.disconnect();
        DefaultEndpoint signals = opened.pubSub() == null ? null : endpoint(opened.pubSub());
        if (signals != null) {
            signals.disconnect();
        }
    }

    /** What holds the channel, behind what times commands and listens to them. */
    private static @Nullable DefaultEndpoint endpoint(StatefulConnection<?, ?> connection) {
        RedisChannelWriter writer =
                connection instanceof RedisChannelHandler<?, ?> handler ? handler.getChannelWriter() : null;
        for (; ; ) {
            if (writer instanceof CommandExpiryWriter expiring) {
                writer = expiring.getDelegate();
            } else if (writer instanceof CommandListenerWriter heard) {
                writer = heard.getDelegate();
            } else {
                return writer instanceof DefaultEndpoint endpoint ? endpoint : null;
            }
        }
    }
}
