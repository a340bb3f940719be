package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.redis.ScriptReply.KeyStatus;
import io.lettuce.core.cluster.SlotHash;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.UnaryOperator;
import reactor.core.publisher.Mono;

/**
 * Reads whether the slots that this instance reserved are still in Redis. Keys that are read at the same time share a call; on a
 * Cluster those of one hash slot do.
 */
final class HeldSlots implements AskPipe.Outlet<HeldSlots.Names, KeyStatus> {

    /** The generation of a key whose slots have to be moved, because the server's clock went back: a look does that. */
    static final long CLOCK_WENT_BACK = -1;

    private static final int MAX_KEYS = 128;
    private static final int VALUES_PER_KEY = 3;

    /** Read from its file here: threads that must not block read slots. */
    private final RedisScript script = RedisScript.heldSlots();

    private final ScriptCaller caller;
    private final RedisKeys keys;
    private final UnaryOperator<Mono<List<Object>>> calling;
    private final long instance = ThreadLocalRandom.current().nextLong(1, 1L << 32);
    private final AskPipes<Names, KeyStatus> pipes = new AskPipes<>(this);

    /** What is read of a key. */
    record Names(String notes, String state) {}

    HeldSlots(ScriptCaller caller, RedisKeys keys, UnaryOperator<Mono<List<Object>>> calling) {
        this.caller = caller;
        this.keys = keys;
        this.calling = calling;
    }

    /** Tells the slots of this limiter in this process from those of others. */
    long instance() {
        return instance;
    }

    Mono<KeyStatus> read(String key, String partName) {
        boolean shareACall = !caller.isOnCluster() || keys.shareASlot();
        String pipe = shareACall ? "" : Integer.toString(SlotHash.getSlot(keys.named(key)));
        return pipes.ask(pipe, new Names(keys.named(key, Ruling.NOTES), keys.named(key, partName)));
    }

    @Override
    public int maxAsks() {
        return MAX_KEYS;
    }

    @Override
    public Mono<List<KeyStatus>> call(String pipe, List<Names> asks) {
        String[] names = asks.stream()
                .flatMap(ask -> List.of(ask.notes, ask.state).stream())
                .toArray(String[]::new);
        String[] arguments = {Long.toString(instance)};
        return calling.apply(caller.call(script, names, arguments)).map(reply -> parse(reply, asks.size()));
    }

    private static List<KeyStatus> parse(List<Object> reply, int count) {
        if (reply.size() != 1 + VALUES_PER_KEY * count) {
            throw new RedisReplyException(
                    "reply of held_slots.lua to " + count + " keys has " + reply.size() + " values");
        }
        long nowMicros = ScriptReply.integer("now", reply.get(0));
        List<KeyStatus> read = new ArrayList<>(count);
        for (int i = 1; i < reply.size(); i += VALUES_PER_KEY) {
            read.add(new KeyStatus(
                    nowMicros,
                    0,
                    ScriptReply.integer("shift", reply.get(i)),
                    ScriptReply.integer("generation", reply.get(i + 1)),
                    ScriptReply.integer("tail", reply.get(i + 2)),
                    false));
        }
        return read;
    }
}
