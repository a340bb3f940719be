package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.redis.SelfTest.Finding;
import io.github.reactorratelimit.redis.SelfTest.Severity;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a server says when a user may not do something, and which permission that is. Inside scripts it does
 * not say NOPERM.
 */
final class Refusal {

    private static final Pattern ANY =
            Pattern.compile("NOPERM|ACL failure|user executing the script can't", Pattern.CASE_INSENSITIVE);
    private static final Pattern KEYS = Pattern.compile("access (a key|.*keys)", Pattern.CASE_INSENSITIVE);
    private static final Pattern COMMAND = Pattern.compile("run the '([^' ]+)' command");
    private static final Pattern LOGIN = Pattern.compile("^(NOAUTH|WRONGPASS)\\b");
    private static final Set<String> OF_SIGNALS = Set.of("publish", "subscribe", "unsubscribe");

    private Refusal() {}

    /** What is wrong, and what to set, of an error that a limiter met. */
    static String advice(String prefix, String said) {
        Matcher command = COMMAND.matcher(said);
        if (command.find()) {
            return judge(prefix, command.group(1), said).message();
        }
        if (ANY.matcher(said).find() && KEYS.matcher(said).find()) {
            return judge(prefix, "", said).message();
        }
        String advice = LOGIN.matcher(said).find()
                ? "Set user and password of the connection"
                : "RedisStore.selfTest() says which command or permission is missing";
        return "Redis answers with '" + said + "'. " + advice;
    }

    static Finding judge(String prefix, String command, String said) {
        String name = command.toLowerCase(Locale.ROOT);
        boolean refused = ANY.matcher(said).find();
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
        if (refused && KEYS.matcher(said).find()) {
            return new Finding(Severity.ERROR, "the user may not use the limiters' keys. Allow ~" + prefix + ":*");
        }
        return new Finding(
                Severity.ERROR,
                refused ? "the user may not run " + name + ". Allow +" + name : name + " fails with '" + said + "'");
    }
}
