package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Decision;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Why requests for a key are denied without a call. */
interface KnownDenial {

    /** The longest time for which it is used. */
    long KEEP_NANOS = Duration.ofSeconds(1).toNanos();

    /** The generation that it was learned in. */
    long generation();

    boolean isOver(long nowNanos);

    /** The key's policy. */
    ScriptPolicy policy();

    /**
     * Denies {@code permits} if Redis would deny the {@code missing} ones, which are not prepaid; else null.
     */
    @Nullable
    Decision deny(long permits, long missing, long nowNanos);
}
