package io.github.reactorratelimit.embedded;

import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One Redis server: a process of our own on 127.0.0.1, or the user's. Ours keeps nothing on disk and ends with {@link #close()}, and with the
 * JVM however that ends. Starting and ending it block.
 */
public final class RedisServer implements AutoCloseable {

    private final String uri;
    private final @Nullable RedisProcess process;

    private RedisServer(String uri, @Nullable RedisProcess process) {
        this.uri = uri;
        this.process = process;
    }

    /**
     * The server that the environment variable {@code REDIS_URI} names, else a {@linkplain #start() new one}.
     *
     * @throws NoRedisException if none can be started here
     */
    public static RedisServer open() {
        return Optional.ofNullable(System.getenv("REDIS_URI"))
                .filter(uri -> !uri.isBlank())
                .map(uri -> new RedisServer(uri, null))
                .orElseGet(RedisServer::start);
    }

    /**
     * A new, empty server on a free port, which answers: the binary that {@code -Dredis.server=} names, that of the embedded-redis jar, or
     * {@code redis-server} on the PATH.
     *
     * @throws NoRedisException if there is none of these
     */
    public static RedisServer start() {
        RedisProcess process = RedisProcess.prepare();
        try {
            process.launch().awaitReady();
            return new RedisServer(process.uri(), process);
        } catch (RuntimeException failed) {
            process.close();
            throw failed;
        }
    }

    /** Where it is, as {@code redis://127.0.0.1:12345}. */
    public String uri() {
        return uri;
    }

    /** Its port. */
    public int port() {
        return own().port();
    }

    /** Its process id, another one after a restart. */
    public long pid() {
        return own().pid();
    }

    /** Whether it is a process of ours; the user's is not ours to end. */
    public boolean isOurs() {
        return process != null;
    }

    /** Whether our process runs. */
    public boolean isAlive() {
        return own().isAlive();
    }

    /** What our process has used of the processors since its start. */
    public Duration processorTime() {
        return own().processorTime();
    }

    /** Ends our process at once, as {@code kill -9} does; returns when it is gone. */
    public void kill() {
        own().kill();
    }

    /** Starts our process again on the same port, empty, unless it runs; returns when it answers. */
    public void restart() {
        if (!own().isAlive()) {
            own().launch().awaitReady();
        }
    }

    private RedisProcess own() {
        if (process == null) {
            throw new IllegalStateException("REDIS_URI names this server: it is not ours");
        }
        return process;
    }

    /** Ends our process for good; the user's server stays. */
    @Override
    public void close() {
        if (process != null) {
            process.close();
        }
    }
}
