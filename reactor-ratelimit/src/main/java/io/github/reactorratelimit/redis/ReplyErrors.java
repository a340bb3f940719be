package io.github.reactorratelimit.redis;

import io.lettuce.core.RedisCommandExecutionException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Tells what an error means: an outage, a state that is not ours, a newer policy version, or a mistake in the
 * set-up.
 */
final class ReplyErrors {

    /**
     * Said by a server that cannot answer now, before Redis 7 with the place in the script in front; anything
     * else it says is our mistake or a broken set-up.
     */
    private static final Pattern UNAVAILABLE = Pattern.compile(
            "(?:ERR )?(?:@user_script: ?\\d+: ?)?-?"
                    + "(LOADING|READONLY|OOM|BUSY|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|MASTERDOWN|MISCONF|MOVED|ASK)\\b.*",
            Pattern.DOTALL);

    private static final String CORRUPT = "RATELIMITCORRUPT ";
    private static final String NEWER_FORMAT = "RATELIMITFORMAT ";

    /** The clock is known better after this reply: the next call passes other calendar windows. */
    private static final String OUTSIDE_WINDOWS = "RATELIMITWINDOW ";

    private static final Pattern NEWER_VERSION = Pattern.compile("RATELIMITVERSION (\\d{1,16})");
    private static final Pattern ARGUMENTS = Pattern.compile(",? with args beginning with:.*", Pattern.DOTALL);

    private ReplyErrors() {}

    /**
     * Of a call.
     *
     * @param wasSent false if it surely did not run
     */
    static Throwable classify(Throwable error, boolean wasSent) {
        if (error instanceof RedisCommandExecutionException) {
            return ofKey(String.valueOf(error.getMessage()));
        }
        // An Error is a broken class path or worse: no outage, so no failure mode may hide it.
        boolean isItself = error instanceof RedisReplyException
                || error instanceof RedisUnavailableException
                || error instanceof Error;
        if (isItself) {
            return error;
        }
        String reason = "Redis cannot be reached";
        return wasSent
                ? RedisUnavailableException.unanswered(reason, error)
                : new RedisUnavailableException(reason, error);
    }

    /** Of one key, or of a call whose server said this. */
    static Throwable ofKey(String said) {
        Matcher newer = NEWER_VERSION.matcher(said);
        if (newer.matches()) {
            return new NewerVersionException(Long.parseLong(newer.group(1)));
        }
        if (said.startsWith(CORRUPT)) {
            return new RedisCorruptStateException(said);
        }
        if (said.startsWith(NEWER_FORMAT)
                || said.startsWith(OUTSIDE_WINDOWS)
                || UNAVAILABLE.matcher(said).matches()) {
            return new RedisUnavailableException("Redis says " + said);
        }
        return new RedisErrorReplyException(withoutArguments(said));
    }

    /** What the server said without the arguments of the command: they hold keys. */
    static String withoutArguments(String said) {
        return ARGUMENTS.matcher(said).replaceFirst("");
    }
}
