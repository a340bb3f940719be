package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.redis.SelfTest.Finding;
import io.github.reactorratelimit.redis.SelfTest.Severity;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;

/** What a server says when a user may not do something, and which permission that is. Inside scripts it does not say NOPERM. */
final class Refusal {

    private static final Pattern ANY =
            Pattern.compile("NOPERM|ACL failure|user executing the script can't", Pattern.CASE_INSENSITIVE);
    private static final Pattern KEYS = Pattern.compile("access (a key|.*keys)", Pattern.CASE_INSENSITIVE);
    private static final Set<String> OF_SIGNALS = Set.of("publish", "subscribe", "unsubscribe");

    private Refusal() {}

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
