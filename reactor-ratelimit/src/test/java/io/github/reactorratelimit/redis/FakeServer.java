package io.github.reactorratelimit.redis;

import io.lettuce.core.RedisFuture;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.UnaryOperator;

/**
 * Takes calls and replies to them when a test says so: each command is allowed, and {@code remaining} is the number of calls that came before. Fails
 * if two calls in flight have a key in common.
 */
final class FakeServer implements CommandQueue.Connection {

    private static final int SCRIPT = 1;

    /** A call in flight. */
    record Call(List<String> keys, List<String> entries, AsyncCommand<String, String, long[]> future) {}

    private final Queue<Call> calls = new ConcurrentLinkedQueue<>();
    private final List<Call> live = new ArrayList<>();
    private final CommandQueues queues = new CommandQueues(this, null, () -> {});
    private volatile String broken = "";
    private int sent;
    private Runnable duringNext = () -> {};

    CommandQueues queues() {
        return queues;
    }

    CommandQueue queue() {
        return queues.of("any");
    }

    /** What went wrong; empty if nothing did. */
    String broken() {
        return broken;
    }

    int inFlight() {
        return calls.size();
    }

    @Override
    public synchronized RedisFuture<?> dispatch(
            CommandType type, CallOutput output, CommandArgs<String, String> arguments) {
        Runnable meanwhile = duringNext;
        duringNext = () -> {};
        meanwhile.run();
        List<String> words = wordsOf(arguments);
        int keyCount = Integer.parseInt(words.get(SCRIPT));
        List<String> keys = words.subList(SCRIPT + 1, SCRIPT + 1 + keyCount);
        List<String> rest = words.subList(SCRIPT + 1 + keyCount, words.size());
        int policies = Integer.parseInt(rest.get(1).replace("a", ""));
        List<String> entries = new ArrayList<>(rest.subList(2 + policies, rest.size()));
        while (entries.size() < keyCount) {
            entries.add(entries.get(0));
        }
        for (Call other : live) {
            if (keys.stream().anyMatch(other.keys::contains)) {
                broken = "two calls in flight for one of " + keys;
            }
        }
        AsyncCommand<String, String, long[]> future = new AsyncCommand<>(new Command<>(type, output, arguments));
        Call call = new Call(List.copyOf(keys), List.copyOf(entries), future);
        future.whenComplete((done, error) -> over(call));
        sent++;
        live.add(call);
        calls.add(call);
        return future;
    }

    private synchronized void over(Call call) {
        live.remove(call);
    }

    private static List<String> wordsOf(CommandArgs<String, String> arguments) {
        io.netty.buffer.ByteBuf buffer = io.netty.buffer.Unpooled.buffer();
        arguments.encode(buffer);
        String[] lines = buffer.toString(StandardCharsets.UTF_8).split("\r\n", -1);
        List<String> words = new ArrayList<>();
        for (int i = 1; i < lines.length; i += 2) {
            words.add(lines[i]);
        }
        return words;
    }

    /** Runs while the next call is being sent. */
    synchronized void duringNext(Runnable meanwhile) {
        duringNext = meanwhile;
    }

    /** Replies to the oldest call; false if there is none. */
    boolean reply() {
        return reply(FakeServer::replyTo);
    }

    /** The oldest call fails for each of its keys. */
    boolean replyError(String error) {
        return reply(entry -> "-" + error);
    }

    private boolean reply(UnaryOperator<String> replyTo) {
        Call call = calls.poll();
        if (call == null) {
            return false;
        }
        if (!call.future.isDone()) {
            CallOutput output = (CallOutput) call.future.getOutput();
            output.multi(1 + 2 * call.keys.size());
            output.set(1_000);
            for (String entry : call.entries) {
                output.set(ByteBuffer.wrap(replyTo.apply(entry).getBytes(StandardCharsets.UTF_8)));
                output.set(0);
            }
            over(call);
            call.future.complete();
        }
        return true;
    }

    private static String replyTo(String entry) {
        StringBuilder reply = new StringBuilder("0 0 0 0 -");
        String[] words = entry.split(" ");
        for (int i = 1; i < words.length; i += 3) {
            int count = words[i].length() == 1 ? 1 : Integer.parseInt(words[i].substring(1));
            reply.append("|1 0 0 0 0 - 0".repeat(count));
        }
        return reply.toString();
    }

    synchronized int sent() {
        return sent;
    }
}
