package io.github.reactorratelimit;

import java.util.LinkedHashSet;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * What the audit saw of one key. Every ask leaves a word in the mailbox before it is made and another when it was answered;
 * whoever leaves one and finds nobody at work becomes the owner and works the mailbox off. Nobody waits.
 *
 * <p><b>Why an excess is none of the audit's making.</b> The audit does not know when the store decided, only that it
 * was after the first word and before the owner read the last. Words are read in the order in which they were left. So
 * whatever is granted by an ask that is open now, or begins later, was or will be granted after the oldest open ask read the
 * clock: that time is where a grant counts from, for the whole set of grants told since then. It is judged at the time at
 * which its last word is read, which only grows. A store that keeps {@code burst + rate * T} in every span keeps it in the span between the
 * two times, whatever the order of the grants was.
 *
 * <p><b>Why a wrong denial is one.</b> What the key had spent when it denied is no more than all that was granted by asks whose last
 * words were read before, each as of that reading, and all that open asks want: an ask whose first word comes behind the last one of
 * the denial was made after it. An ask that was cancelled or failed counts as granted, and what came back as spent.
 *
 * <p>Where something else changes the key (a reset, a pause, another policy) nothing is judged until it is over, and no ask that
 * began before that.
 */
final class AuditedKey {

    /** As {@link #users}: out of use. */
    private static final int RETIRED = -1;

    /** How an ask ended. */
    enum Outcome {
        ALLOWED,
        DENIED,
        /** Nothing was taken, and nothing denied. */
        NOTHING,
        /** Perhaps it was taken. */
        UNKNOWN,
        /** Taken without asking. */
        CHARGED,
        /** The key was changed by something else. */
        CHANGED,
        /** The key has another policy. */
        RULED_ANEW,
        /** Something else may change the key at any time, or never. */
        UNSURE
    }

    private final AuditedKeys keys;
    private final String name;
    private final Queue<Runnable> mailbox = new ConcurrentLinkedQueue<>();
    private final AtomicInteger missed = new AtomicInteger();

    /** Asks whose last word was not read yet. */
    private final AtomicInteger users = new AtomicInteger();

    /** The owner's, as are the fields below. In the order of their first words. */
    private final Set<Ask> open = new LinkedHashSet<>();

    private long openPermits;
    private int openChanges;

    /** Grows when something else changed the key. */
    private int era;

    private @Nullable AdmissionJudge judge;

    /** Under another reign the key may have recovered in another way, though the same policy rules again. */
    private int judgeReign;

    /** All that was charged without asking: a debt may outlast a change of policy. */
    private long chargedPermits;

    /** Whether the next judge follows another, whose key had spent something. */
    private boolean follows;

    private long pausedUntilNanos;

    /** Nothing can be said about the key any more. */
    private boolean blind;

    AuditedKey(AuditedKeys keys, String name) {
        this.keys = keys;
        this.name = name;
        this.pausedUntilNanos = keys.now();
    }

    /** One request, or something else that happens to the key. */
    final class Ask {

        private final @Nullable RateLimitPolicy policy;
        private final long permits;
        private final long atMost;
        private final int reign = keys.reign();
        private final long askedNanos = keys.now();
        private final AtomicBoolean ended = new AtomicBoolean();

        /** The owner's. */
        private int era;

        private Ask(@Nullable RateLimitPolicy policy, long permits, long atMost) {
            this.policy = policy;
            this.permits = permits;
            this.atMost = atMost;
        }

        /** The first call counts. */
        void end(Outcome outcome) {
            end(outcome, 0);
        }

        void end(Outcome outcome, long pauseNanos) {
            if (ended.compareAndSet(false, true)) {
                leave(() -> AuditedKey.this.ended(this, outcome, pauseNanos));
            }
        }

        /** It was given its permits, and will ask again. */
        void given() {
            leave(() -> judgeGrant(this, keys.now()));
        }
    }

    /**
     * Before it is asked.
     *
     * @param policy null for what changes the key otherwise
     * @param atMost permits that it may have taken while it is open
     * @return null if this is out of use
     */
    @Nullable
    Ask begin(@Nullable RateLimitPolicy policy, long permits, long atMost) {
        if (users.getAndUpdate(seen -> seen == RETIRED ? seen : seen + 1) == RETIRED) {
            return null;
        }
        Ask ask = new Ask(policy, permits, atMost);
        leave(() -> began(ask));
        return ask;
    }

    /** Before they come back. */
    void cameBack(RateLimitPolicy policy, long permits) {
        leave(() -> {
            if (judge != null && judge.isOf(policy)) {
                judge.cameBack(permits);
            }
        });
    }

    /** Goes out of use if it knows nothing that matters. */
    void retireIfIdle() {
        leave(() -> {
            long now = keys.now();
            boolean idle =
                    !follows && !blind && now >= pausedUntilNanos && (judge == null || judge.isNothingTaken(now));
            if (idle && users.compareAndSet(0, RETIRED)) {
                keys.remove(name, this);
            }
        });
    }

    private void leave(Runnable word) {
        mailbox.offer(word);
        if (missed.getAndIncrement() == 0) {
            workOff();
        }
    }

    private void workOff() {
        int seen = 1;
        do {
            for (Runnable word = mailbox.poll(); word != null; word = mailbox.poll()) {
                try {
                    word.run();
                } catch (RuntimeException broken) {
                    // Those who come later must find somebody at work again.
                    Operators.onErrorDropped(broken, Context.empty());
                }
            }
            seen = missed.addAndGet(-seen);
        } while (seen != 0);
    }

    private void began(Ask ask) {
        open.add(ask);
        openPermits += ask.atMost;
        if (ask.policy == null) {
            openChanges++;
            era++;
        }
        ask.era = era;
    }

    private void ended(Ask ask, Outcome outcome, long pauseNanos) {
        long now = keys.now();
        switch (outcome) {
            case ALLOWED -> judgeGrant(ask, now);
            case DENIED -> judgeDenial(ask, now);
            case UNKNOWN, CHARGED -> {
                AdmissionJudge judge = judgeOf(ask, now);
                if (judge != null) {
                    judge.taken(ask.permits, now, outcome == Outcome.CHARGED);
                }
                chargedPermits += outcome == Outcome.CHARGED ? ask.permits : 0;
            }
            case CHANGED -> changed(now, pauseNanos);
            case RULED_ANEW -> {
                changed(now, 0);
                judge = null;
                follows = true;
            }
            case UNSURE -> {
                changed(now, 0);
                blind = true;
            }
            case NOTHING -> {}
        }
        open.remove(ask);
        openPermits -= ask.atMost;
        users.decrementAndGet();
    }

    private void changed(long now, long pauseNanos) {
        openChanges--;
        era++;
        if (judge != null) {
            judge.clearCeilings();
        }
        pausedUntilNanos = Math.max(pausedUntilNanos, Nanos.saturatedAdd(now, pauseNanos));
    }

    private void judgeGrant(Ask ask, long now) {
        AdmissionJudge judge = judgeOf(ask, now);
        if (judge == null) {
            return;
        }
        judge.taken(ask.permits, now, false);
        if (isJudged(ask) && judge.judgesGrants()) {
            long earliest = open.iterator().next().askedNanos;
            keys.recorder().grantAudited(ask.permits, judge.given(ask.permits, earliest, now));
        }
    }

    private void judgeDenial(Ask ask, long now) {
        AdmissionJudge judge = judgeOf(ask, now);
        if (judge != null
                && judge.judgesDenials()
                && isJudged(ask)
                && keys.seesAll()
                && ask.askedNanos >= pausedUntilNanos) {
            keys.recorder().denialAudited(ask.permits, judge.leavesRoomFor(openPermits, ask.askedNanos));
        }
    }

    private boolean isJudged(Ask ask) {
        return !blind && ask.era == era && openChanges == 0 && keys.isSampled(name);
    }

    /** Null if another policy began to rule meanwhile. What a key has that is first seen after that is for the store to say. */
    private @Nullable AdmissionJudge judgeOf(Ask ask, long now) {
        RateLimitPolicy policy = ask.policy;
        if (policy == null || !keys.stillRules(name, policy, ask.reign)) {
            judge = null;
            follows = true;
            era++;
            return null;
        }
        AdmissionJudge known = judge;
        if (known != null && known.isOf(policy) && judgeReign == ask.reign) {
            return known;
        }
        AdmissionJudge next = new AdmissionJudge(policy, keys.startNanos());
        if (known != null || follows || ask.reign > 0) {
            next.anythingMayBeTaken(now);
            if (chargedPermits > 0) {
                next.taken(chargedPermits, now, true);
            }
        }
        if (known != null || follows) {
            follows = false;
            era++;
        }
        judge = next;
        judgeReign = ask.reign;
        return next;
    }
}
