package io.github.reactorratelimit.redis;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** The asks under one policy. */
final class PolicyPipes implements AskPipe.Outlet<Ask, Answered> {

    /** A slot that is reserved or freed costs Redis several times what a take costs: no call may hold it up for long. */
    private static final int WEIGHT_OF_SLOT = 4;

    private final Ruling ruling;
    private final List<String> keyNames;
    private final RedisKeys keys;
    private final Sender sender;
    private final int maxAsks;
    private final AskPipes<Ask, Answered> pipes;

    /** Sends the asks for one key in one call. */
    interface Sender {
        Mono<ScriptReply> send(Ruling ruling, String[] keys, List<Ask> asks);
    }

    private final @Nullable TakePipes takes;

    /** @param office null if no takes are to travel with those of other keys */
    PolicyPipes(Ruling ruling, RedisKeys keys, Sender sender, boolean coalesce, @Nullable TakeOffice office) {
        this.ruling = ruling;
        this.keyNames = ruling.keyNames();
        this.keys = keys;
        this.sender = sender;
        this.maxAsks = coalesce ? ruling.policy().maxAsks() : 1;
        this.pipes = new AskPipes<>(this);
        this.takes = office == null ? null : takes(ruling, office, pipes::hasUnsent);
    }

    PolicyArguments policy() {
        return ruling.policy();
    }

    Ruling ruling() {
        return ruling;
    }

    /** Where there are epochs every key has notes. */
    private static @Nullable TakePipes takes(Ruling ruling, TakeOffice office, Predicate<String> askedWhole) {
        TakeTerms terms = TakeTerms.of(ruling.policy().policy());
        return terms == null || ruling.epoch() > 0 || ruling.before() != null
                ? null
                : new TakePipes(terms, ruling.policy().partNames().get(0), office, askedWhole);
    }

    /** For plain takes; null if the policy is not one of those that the short script knows. */
    @Nullable
    TakePipes takes() {
        return takes;
    }

    /** Answered on a thread of the connection. */
    Mono<Answered> ask(String key, Ask ask) {
        return takes == null
                ? pipes.ask(key, ask)
                : MonoOnce.asking(reply -> takes.behind(key, () -> pipes.ask(key, ask, reply)));
    }

    @Override
    public int maxAsks() {
        return maxAsks;
    }

    @Override
    public int weight(Ask ask) {
        return ask.op().needsSlots() ? WEIGHT_OF_SLOT : 1;
    }

    @Override
    public Mono<List<Answered>> call(String key, List<Ask> asks) {
        return sender.send(ruling, keys.of(key, keyNames), asks).map(this::answered);
    }

    private List<Answered> answered(ScriptReply reply) {
        List<Answered> answered = new ArrayList<>(reply.answers().size());
        for (ScriptReply.Answer answer : reply.answers()) {
            answered.add(new Answered(answer, reply.key(), policy()));
        }
        return answered;
    }

    /** Takes of the key that were written by other threads may not have reached the wire. */
    @Override
    public boolean mayBeWrittenOnConnection() {
        return takes == null || takes.isQuiet();
    }

    @Override
    public boolean runElsewhere(Runnable task) {
        return takes != null && takes.deliveries().runElsewhere(task);
    }

    /** What becomes of slots is told for a call as a whole, so whatever moves them travels alone. */
    @Override
    public boolean mayTravelWith(Ask before, Ask next) {
        return !(before.op().movesSlots() || next.op().movesSlots());
    }
}
