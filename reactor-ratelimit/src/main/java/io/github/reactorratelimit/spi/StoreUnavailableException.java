package io.github.reactorratelimit.spi;

import io.github.reactorratelimit.RateLimitException;
import org.jspecify.annotations.Nullable;

/**
 * The engine of a {@link CompareAndSwapStore} failed, did not answer before the deadline, or holds a value that this version does not
 * know. No decision was made. The permits may be spent nevertheless: an outcome that is unknown counts as spent.
 *
 * <pre>{@code
 * limiter.tryAcquire("alice").onErrorResume(StoreUnavailableException.class, unavailable -> decideWithoutTheStore());
 * }</pre>
 */
public final class StoreUnavailableException extends RateLimitException {

    private static final long serialVersionUID = 1L;

    StoreUnavailableException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
