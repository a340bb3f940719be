package io.github.reactorratelimit.webflux.client;

import io.github.reactorratelimit.webflux.client.StructuredField.Member;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads the fields about calls that are left: {@code RateLimit} and {@code RateLimit-Policy} as in the newest draft of the IETF (a list of named
 * limits), as in the one before (a dictionary), and the fields of the first drafts and of habit, one for each number.
 */
final class QuotaFields {

    private static final int LONGEST_FIELD = 1_024;
    private static final int MOST_LINES = 8;
    private static final int MOST_MEMBERS = 16;

    /** From here on a time since 1970 is meant: as a number of seconds to wait it would be 31 years. */
    private static final long SECONDS_SINCE_1970 = 1_000_000_000L;

    private static final long MILLIS_SINCE_1970 = 1_000 * SECONDS_SINCE_1970;

    private final Function<String, List<String>> fields;
    private final Supplier<Instant> now;
    private final List<Quota> quotas = new ArrayList<>();
    private boolean malformed;

    /** @param now the time of the answer */
    QuotaFields(Function<String, List<String>> fields, Supplier<Instant> now) {
        this.fields = fields;
        this.now = now;
    }

    List<Quota> quotas() {
        return quotas;
    }

    boolean malformed() {
        return malformed;
    }

    /** The fields of the drafts. A limit that says what is left, and until when, is judged by that and its policy together. */
    void readDrafts() {
        Set<Object> otherUnits = new HashSet<>();
        List<Map.Entry<Object, Quota>> policies = new ArrayList<>();
        members("RateLimit-Policy").ifPresent(all -> all.forEach(policy -> readPolicy(policy, policies, otherUnits)));
        String state = field("RateLimit");
        if (state != null) {
            StructuredField.list(state)
                    .ifPresentOrElse(limits -> readLimits(limits, policies, otherUnits), () -> readDictionary(state));
        }
        policies.forEach(policy -> quotas.add(policy.getValue()));
        readNumbers("RateLimit-");
    }

    /** The fields of habit. */
    void readLegacy() {
        readNumbers("X-RateLimit-");
        readNumbers("X-Rate-Limit-");
    }

    private Optional<List<Member>> members(String name) {
        String text = field(name);
        if (text == null) {
            return Optional.empty();
        }
        Optional<List<Member>> members = StructuredField.list(text).filter(all -> all.size() <= MOST_MEMBERS);
        malformed |= members.isEmpty();
        return members;
    }

    /** How many calls in which time: as good as what is left, before the first of them. Of other units nothing is known. */
    private void readPolicy(Member policy, List<Map.Entry<Object, Quota>> policies, Set<Object> otherUnits) {
        Object unit = policy.parameters().getOrDefault("qu", "requests");
        if (!unit.equals("requests")) {
            otherUnits.add(policy.value());
            return;
        }
        Object quota = policy.value() instanceof Long first
                ? first
                : policy.parameters().get("q");
        Object window = policy.parameters().get("w");
        if (quota instanceof Long calls && calls > 0 && window instanceof Long seconds && seconds > 0) {
            policies.add(Map.entry(policy.value(), new Quota(calls, seconds, true, null)));
        } else {
            malformed |= window != null || !(quota instanceof Long);
        }
    }

    private void readLimits(List<Member> limits, List<Map.Entry<Object, Quota>> policies, Set<Object> otherUnits) {
        if (limits.size() > MOST_MEMBERS) {
            malformed = true;
            return;
        }
        for (Member limit : limits) {
            List<Quota> same = policies.stream()
                    .filter(policy -> policy.getKey().equals(limit.value()))
                    .map(Map.Entry::getValue)
                    .toList();
            if (!otherUnits.contains(limit.value())
                    && add(either(limit, "r", "a"), either(limit, "t", "w"), same.isEmpty() ? null : same.get(0))) {
                policies.removeIf(policy -> same.contains(policy.getValue()));
            }
        }
    }

    /** What is left and until when: as draft 10 names them, or as proposed for later ones. */
    private static @Nullable Object either(Member limit, String name, String proposed) {
        Object value = limit.parameters().get(name);
        return value == null ? limit.parameters().get(proposed) : value;
    }

    private void readDictionary(String text) {
        Map<String, Member> members = StructuredField.dictionary(text).orElse(Map.of());
        if (members.containsKey("remaining")) {
            add(valueOf(members.get("remaining")), valueOf(members.get("reset")), null);
        } else {
            malformed = true;
        }
    }

    private static @Nullable Object valueOf(@Nullable Member member) {
        return member == null ? null : member.value();
    }

    /** Where it is not said when there is more, nothing can be done; false then. */
    private boolean add(@Nullable Object remaining, @Nullable Object seconds, @Nullable Quota policy) {
        if (remaining instanceof Long left && left >= 0 && (seconds == null || seconds instanceof Long)) {
            malformed |= seconds instanceof Long until && until < 0;
            return seconds instanceof Long until && until > 0 && quotas.add(new Quota(left, until, false, policy));
        }
        malformed = true;
        return false;
    }

    private void readNumbers(String prefix) {
        String remaining = field(prefix + "Remaining");
        String reset = field(prefix + "Reset");
        if (remaining == null || reset == null) {
            return;
        }
        Optional<Long> left = RetryAfter.digits(remaining);
        Optional<Long> until = RetryAfter.digits(reset).map(this::secondsUntil);
        if (left.isPresent() && until.isPresent()) {
            add(left.get(), Math.max(0, until.get()), null);
        } else {
            malformed = true;
        }
    }

    private long secondsUntil(long reset) {
        if (reset < SECONDS_SINCE_1970) {
            return reset;
        }
        long seconds = reset < MILLIS_SINCE_1970 ? reset : -Math.floorDiv(-reset, 1_000L);
        return seconds - now.get().getEpochSecond();
    }

    /** The lines of a field as one; null if there are none, or more than is worth reading. */
    private @Nullable String field(String name) {
        List<String> lines = fields.apply(name);
        if (lines.isEmpty()) {
            return null;
        }
        long length = lines.size() <= MOST_LINES
                ? lines.stream().mapToLong(String::length).sum()
                : Long.MAX_VALUE;
        if (length > LONGEST_FIELD) {
            malformed = true;
            return null;
        }
        return String.join(", ", lines).trim();
    }
}
