package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.redis.LeaseAsk.Answer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What concurrency.lua shall answer, by looking at every lease each time. */
final class LeaseModel {

    static final long MARK_MICROS = 1_000_000;

    /** A lease, or the mark of one who waits, which has no permits. */
    private record Entry(String name, long permits, long lasts, long end) {}

    private final long max;
    private Map<String, Entry> entries = new HashMap<>();

    LeaseModel(long max) {
        this.max = max;
    }

    List<Answer> call(long now, List<LeaseAsk> asks) {
        Map<String, Entry> before = new HashMap<>(entries);
        boolean marked = before.containsKey("waiting")
                && before.get("waiting").end() > now
                && before.get("waiting").end() <= now + MARK_MICROS;
        long usedBefore = used(before);
        pullBack(now);
        entries.values().removeIf(entry -> entry.end() <= now);
        boolean writes = false;
        boolean newMark = false;
        List<Answer> answers = new ArrayList<>();
        for (LeaseAsk ask : asks) {
            boolean done = answer(now, ask);
            writes |= ask.op() != LeaseAsk.Op.LOOK;
            newMark |= ask.op() == LeaseAsk.Op.TAKE_FOR_WAITER && !done;
            answers.add(new Answer(done, Math.max(0, max - used(entries))));
        }
        if (!writes) {
            entries = before;
        } else if (used(entries) == 0) {
            entries.clear();
        } else if (marked && used(entries) < usedBefore && !newMark) {
            entries.remove("waiting");
        }
        return answers;
    }

    private static long used(Map<String, Entry> entries) {
        return entries.values().stream().mapToLong(Entry::permits).sum();
    }

    /** Only if the furthest end is too far ahead are the others looked at. */
    private void pullBack(long now) {
        Comparator<Entry> byEnd = Comparator.comparingLong(Entry::end);
        Entry furthest =
                entries.values().stream().max(byEnd.thenComparing(Entry::name)).orElse(null);
        if (furthest != null && furthest.end() > now + furthest.lasts()) {
            entries.replaceAll((name, entry) -> entry.end() > now + entry.lasts() ? lasting(now, entry) : entry);
        }
    }

    private static Entry lasting(long now, Entry entry) {
        return new Entry(entry.name(), entry.permits(), entry.lasts(), now + entry.lasts());
    }

    private boolean answer(long now, LeaseAsk ask) {
        return switch (ask.op()) {
            case LOOK -> Long.parseLong(ask.argument()) <= max - used(entries);
            case RESET -> {
                entries.clear();
                yield true;
            }
            case GIVE_BACK -> entries.remove(ask.argument()) != null;
            case RENEW -> entries.computeIfPresent(ask.argument(), (name, entry) -> lasting(now, entry)) != null;
            case TAKE, TAKE_FOR_WAITER -> take(now, ask);
        };
    }

    private boolean take(long now, LeaseAsk ask) {
        String[] words = ask.argument().split(" ");
        Entry lease = lasting(now, new Entry(ask.argument(), Long.parseLong(words[1]), Long.parseLong(words[2]), 0));
        if (entries.containsKey(lease.name()) || lease.permits() <= max - used(entries)) {
            entries.put(lease.name(), lease);
            return true;
        }
        if (ask.op() == LeaseAsk.Op.TAKE_FOR_WAITER) {
            entries.put("waiting", lasting(now, new Entry("waiting", 0, MARK_MICROS, 0)));
        }
        return false;
    }
}
