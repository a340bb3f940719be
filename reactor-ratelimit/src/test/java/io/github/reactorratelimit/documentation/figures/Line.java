package io.github.reactorratelimit.documentation.figures;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;

/** One line of a diagram: what happened on it, and when. */
final class Line {

    enum Kind {
        ELEMENT,
        DISCARDED,
        COMPLETE,
        ERROR,
        CANCEL
    }

    record Mark(long atMillis, Kind kind, String label) {}

    private final String name;
    private final LongSupplier nowMillis;
    private final List<Mark> marks = new ArrayList<>();

    Line(String name, LongSupplier nowMillis) {
        this.name = name;
        this.nowMillis = nowMillis;
    }

    String name() {
        return name;
    }

    List<Mark> marks() {
        return marks;
    }

    void element(String label) {
        note(Kind.ELEMENT, label);
    }

    void discarded(String label) {
        note(Kind.DISCARDED, label);
    }

    void complete() {
        note(Kind.COMPLETE, "");
    }

    void error(Throwable error) {
        note(Kind.ERROR, error.getClass().getSimpleName());
    }

    void cancel(String label) {
        note(Kind.CANCEL, label);
    }

    private void note(Kind kind, String label) {
        marks.add(new Mark(nowMillis.getAsLong(), kind, label));
    }
}
