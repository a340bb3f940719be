package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.redis.SelfTest.Finding;
import io.github.reactorratelimit.redis.SelfTest.Severity;
import io.lettuce.core.RedisCommandExecutionException;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Tells what an error means: an outage, a state that is not ours, a newer policy version, or a mistake in the
 * set-up; and of that what to set.
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

    /** Said when a user may not do something. Inside scripts a server does not say NOPERM. */
    private static final Pattern REFUSED =
            Pattern.compile("NOPERM|ACL failure|user executing the script can't", Pattern.CASE_INSENSITIVE);

    private static final Pattern KEYS_REFUSED = Pattern.compile("access (a key|.*keys)", Pattern.CASE_INSENSITIVE);
    private static final Pattern COMMAND_REFUSED = Pattern.compile("run the '([^' ]+)' command");
    private static final Pattern LOGIN_REFUSED = Pattern.compile("^(NOAUTH|WRONGPASS)\\b");
    private static final Set<String> OF_SIGNALS = Set.of("publish", "subscribe", "unsubscribe");

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
        // The arguments of the command hold keys.
        return new RedisErrorReplyException(ARGUMENTS.matcher(said).replaceFirst(""));
    }

    /** What is wrong, and what to set, of an error that a limiter met. */
    static String advice(String prefix, String said) {
        Matcher command = COMMAND_REFUSED.matcher(said);
        if (command.find()) {
            return judge(prefix, command.group(1), said).message();
        }
        if (REFUSED.matcher(said).find() && KEYS_REFUSED.matcher(said).find()) {
            return judge(prefix, "", said).message();
        }
        String advice = LOGIN_REFUSED.matcher(said).find()
                ? "Set user and password of the connection"
                : "RedisStore.selfTest() says which command or permission is missing";
        return "Redis answers with '" + said + "'. " + advice;
    }

    /** What it means that a command failed, and which permission it needs. */
    static Finding judge(String prefix, String command, String said) {
        String name = command.toLowerCase(Locale.ROOT);
        boolean refused = REFUSED.matcher(said).find();
        if (OF_SIGNALS.contains(name)) {
            return new Finding(
                    Severity.WARNING,
                    "no signals between processes: " + name + " fails with '" + said + "'"
                            + (refused ? ". Allow +publish +subscribe +unsubscribe &" + prefix + ":*" : ""));
        }
        if (name.equals("info")) {
            return new Finding(
                    Severity.NOTE,
                    "version, role and maxmemory-policy are unknown: info fails with '" + said
                            + "'. Allow +info, or see to it that maxmemory-policy is noeviction");
        }
        if (refused && KEYS_REFUSED.matcher(said).find()) {
            return new Finding(Severity.ERROR, "the user may not use the limiters' keys. Allow ~" + prefix + ":*");
        }
        return new Finding(
                Severity.ERROR,
                refused ? "the user may not run " + name + ". Allow +" + name : name + " fails with '" + said + "'");
    }
}
