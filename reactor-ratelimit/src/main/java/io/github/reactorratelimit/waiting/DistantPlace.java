package io.github.reactorratelimit.waiting;

import io.github.reactorratelimit.Debit;

/** At the desk of a key whose state is elsewhere: everyone joins the line, also if it is empty. */
final class DistantPlace<L extends Line> implements Place {

    private final WaitingRoom<L> room;
    private final String key;
    private final DistantDesk desk;
    private final WaitingRoom.LineMaker<L> lines;

    DistantPlace(WaitingRoom<L> room, String key, DistantDesk desk, WaitingRoom.LineMaker<L> lines) {
        this.room = room;
        this.key = key;
        this.desk = desk;
        this.lines = lines;
    }

    @Override
    public void ask(Waiter waiter) {
        if (room.isClosed()) {
            waiter.failAtOnce(room.closedException());
            return;
        }
        waiter.arriveAt(desk.now());
        room.join(key, waiter, lines);
    }

    @Override
    public void leave(Waiter waiter) {
        room.leave(key, waiter);
    }

    @Override
    public long now() {
        return desk.now();
    }

    @Override
    public void giveBack(Debit debit) {
        desk.refund(debit);
    }
}
