package io.github.reactorratelimit.redis;

import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.protocol.CommandArgs;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;

/**
 * The takes under one policy that the short script knows. On a standalone server all share a pipe; on a Cluster, where the keys
 * of a call must lie in one slot, those of a slot do.
 */
final class TakePipes {

    /** On a standalone server: enough to keep the wire busy while answers are worked off. */
    static final int CALLS_UNDER_WAY = 4;

    private final TakeTerms terms;
    private final TakeArguments arguments;
    private final String partName;
    private final TakeOffice office;
    private final Predicate<String> askedWhole;
    private final @Nullable TakePipe onlyPipe;
    private final Map<Integer, TakePipe> bySlot = new ConcurrentHashMap<>();

    /** @param askedWhole whether something that the whole script is to be asked for a key is not sent */
    TakePipes(TakeTerms terms, String partName, TakeOffice office, Predicate<String> askedWhole) {
        this.terms = terms;
        this.arguments = new TakeArguments(terms);
        this.partName = partName;
        this.office = office;
        this.askedWhole = askedWhole;
        if (!office.coalescing()) {
            this.onlyPipe = new TakePipe(this, Integer.MAX_VALUE, 1);
        } else {
            this.onlyPipe = office.isSplitBySlot() ? null : pipe(CALLS_UNDER_WAY);
        }
    }

    TakeTerms terms() {
        return terms;
    }

    UnusualKeys unusual() {
        return office.unusual();
    }

    Breaker breaker() {
        return office.breaker();
    }

    Deliveries deliveries() {
        return office.deliveries();
    }

    Scheduler timer() {
        return office.settings().scheduler();
    }

    boolean tellsOnConnection() {
        return office.onConnection();
    }

    /** Whether no call of the limiter is under way: then what the connection's own thread writes overtakes nothing. */
    boolean isQuiet() {
        return office.caller().isQuiet();
    }

    /** How many calls of the limiter ever began: no more than before if nobody wrote meanwhile. */
    long begun() {
        return office.caller().begun();
    }

    long now() {
        return office.now();
    }

    RedisCodec<String, String> codec() {
        return office.caller().codec();
    }

    RedisClusterAsyncCommands<String, String> commands() {
        return office.caller().commands();
    }

    CommandArgs<String, String> arguments(TakeCall call, boolean withText) {
        return arguments.of(call, this, withText);
    }

    void addState(CommandArgs<String, String> arguments, String key) {
        arguments.addKey(office.keys().named(key, partName));
    }

    void addNotes(CommandArgs<String, String> arguments, String key) {
        arguments.addKey(office.keys().named(key, Ruling.NOTES));
    }

    void send(TakeCall call) {
        office.caller().watch(call);
        call.send(now());
    }

    /** Whether the whole script has to be asked. */
    boolean isUnusual(String key) {
        return office.unusual().isMarked(key) && office.unusual().isUnusual(key, now());
    }

    /** Whether a take would overtake what was asked for its key before. */
    boolean isAskedWhole(String key) {
        return askedWhole.test(key);
    }

    void ask(TakeAsk ask, long nowNanos) {
        ask.claim(ask.state().shortcuts().level(ask.key(), terms));
        ask.askedAt(nowNanos);
        TakePipe pipe = onlyPipe;
        (pipe == null ? bySlot.computeIfAbsent(slot(ask.key()), first -> pipe(1)) : pipe).ask(ask);
    }

    /** Runs what asks for a key with the whole script, when all takes that came before are sent. */
    void behind(String key, Runnable asking) {
        TakePipe pipe = onlyPipe == null ? bySlot.get(slot(key)) : onlyPipe;
        if (pipe == null) {
            asking.run();
        } else {
            pipe.behind(asking);
        }
    }

    private int slot(String key) {
        return SlotHash.getSlot(office.keys().named(key));
    }

    /** Whether an ask has waited for the wire as long as it may. */
    boolean isOverdue(TakeAsk ask, long nowNanos) {
        return nowNanos - ask.askedNanos() >= office.caller().deadlineNanos();
    }

    RedisUnavailableException overdue() {
        return new RedisUnavailableException("not sent to Redis within the deadline: more is asked than it answers");
    }

    private TakePipe pipe(int callsUnderWay) {
        return new TakePipe(this, callsUnderWay, TakePipe.MAX_ASKS);
    }
}
