package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.waiting.SerialWorker;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * The asks for one key. One call is under way at a time; what is asked meanwhile travels in the next,
 * so a key in demand costs Redis few calls, and one that is not costs nobody any time.
 */
final class KeyPipe extends SerialWorker {

    /** An answer together with what holds for the key, and the policy that it was given under. */
    record Answered(ScriptReply.Answer answer, ScriptReply.KeyStatus key, PolicyArguments policy) {

        /** The part of the policy that the answer is about. */
        RateLimitPolicy binding() {
            return policy.part(answer.part());
        }
    }

    private record Pending(Ask ask, MonoOnce.Reply<Answered> reply) {}

    private final PolicyPipes pipes;
    private final String key;
    private final Queue<Pending> asked = new ConcurrentLinkedQueue<>();

    /** A reply or an error that has come for the call under way. */
    private volatile @Nullable Object outcome;

    /** The owner's, as is the field below. */
    private final Deque<Pending> next = new ArrayDeque<>();

    private List<Pending> underWay = List.of();

    KeyPipe(PolicyPipes pipes, String key) {
        this.pipes = pipes;
        this.key = key;
    }

    /** False if the pipe went out of use without seeing this ask: its last owner may have been quicker than the poke. */
    boolean add(Ask ask, MonoOnce.Reply<Answered> reply) {
        Pending pending = new Pending(ask, reply);
        asked.offer(pending);
        return poke() || !asked.remove(pending);
    }

    @Override
    protected void work() {
        for (Pending pending = asked.poll(); pending != null; pending = asked.poll()) {
            next.add(pending);
        }
        Object came = outcome;
        if (came != null) {
            outcome = null;
            List<Pending> answered = underWay;
            underWay = List.of();
            settle(answered, came);
        }
        if (underWay.isEmpty() && !next.isEmpty()) {
            send();
        }
    }

    @Override
    protected boolean isDone() {
        return next.isEmpty() && underWay.isEmpty() && asked.isEmpty();
    }

    @Override
    protected void retired() {
        pipes.remove(key, this);
    }

    private void send() {
        List<Pending> batch = new ArrayList<>();
        List<Ask> asks = new ArrayList<>();
        while (!next.isEmpty()
                && batch.size() < pipes.maxAsks()
                && mayTravelWith(asks, next.getFirst().ask())) {
            Pending pending = next.removeFirst();
            batch.add(pending);
            asks.add(pending.ask());
        }
        underWay = batch;
        Mono.defer(() -> pipes.call(key, asks)).subscribe(this::came, this::came);
    }

    /** What becomes of slots is told for a call as a whole, so whatever moves them travels alone. */
    private static boolean mayTravelWith(List<Ask> asks, Ask next) {
        return asks.isEmpty()
                || !(next.op().movesSlots() || asks.get(asks.size() - 1).op().movesSlots());
    }

    private void came(Object replyOrError) {
        outcome = replyOrError;
        poke();
    }

    private void settle(List<Pending> answered, Object came) {
        for (int i = 0; i < answered.size(); i++) {
            MonoOnce.Reply<Answered> reply = answered.get(i).reply();
            if (came instanceof ScriptReply all) {
                reply.succeed(new Answered(all.answers().get(i), all.key(), pipes.policy()));
            } else if (came instanceof Throwable error) {
                reply.fail(error);
            }
        }
    }
}
