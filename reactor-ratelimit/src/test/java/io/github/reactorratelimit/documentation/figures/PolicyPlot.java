package io.github.reactorratelimit.documentation.figures;

import io.github.reactorratelimit.replay.Arrival;
import io.github.reactorratelimit.replay.ReplayEvent;
import java.time.Duration;
import java.util.List;

/** What several policies make of the same traffic: a row each, what left upwards, what was denied downwards. */
final class PolicyPlot {

    private static final int LEFT = 190;
    private static final int RIGHT = 150;
    private static final int BIN_MILLIS = 100;
    private static final double PER_REQUEST = 2.2;
    private static final int ARRIVALS_UP = 48;
    private static final int UP = 28;
    private static final int DOWN = 44;

    private final Sheet sheet = new Sheet();
    private final StringBuilder inWords = new StringBuilder();
    private int y = 10;

    PolicyPlot arrivals(List<Arrival> arrivals) {
        int[] came = new int[bins()];
        arrivals.forEach(arrival -> came[bin(arrival.at())]++);
        axis("what comes", ARRIVALS_UP);
        bars("came", came, -1);
        figures(arrivals.size() + " requests");
        y += 8;
        return this;
    }

    PolicyPlot row(String policy, List<ReplayEvent> events) {
        int[] passed = new int[bins()];
        int[] denied = new int[bins()];
        events.forEach(event -> event.departure()
                .ifPresentOrElse(
                        at -> passed[bin(at)]++,
                        () -> denied[bin(event.arrival().at())]++));
        long allowed = events.stream().filter(ReplayEvent::allowed).count();
        String most = "at most " + MostInASecond.of(events) + " in any second";
        axis(policy, UP);
        bars("passed", passed, -1);
        bars("denied", denied, 1);
        figures(allowed + " pass, " + (events.size() - allowed) + " denied", most);
        y += DOWN;
        inWords.append(policy)
                .append(": ")
                .append(allowed)
                .append(" pass, ")
                .append(most)
                .append(". ");
        return this;
    }

    String document() {
        for (int second = 0; second <= Traffic.LENGTH.toSeconds(); second += 2) {
            sheet.text("small", x(second * 1_000.0), y + 14, "middle", second + " s");
        }
        return sheet.document(y + 22, inWords.toString().strip());
    }

    private void axis(String name, int up) {
        y += up;
        sheet.text("code", LEFT - 14, y + 1, "end", name);
        sheet.add(
                "<path class=\"line\" d=\"M%d %dH%s\"/>", LEFT - 4, y, Sheet.number(x(Traffic.LENGTH.toMillis()) + 4));
    }

    private void bars(String style, int[] perBin, int direction) {
        double width = x(BIN_MILLIS) - x(0) - 0.6;
        for (int i = 0; i < perBin.length; i++) {
            if (perBin[i] > 0) {
                double height = perBin[i] * PER_REQUEST;
                double top = direction < 0 ? y - height : y;
                sheet.add(
                        "<rect class=\"%s\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>",
                        style,
                        Sheet.number(x((double) i * BIN_MILLIS)),
                        Sheet.number(top),
                        Sheet.number(width),
                        Sheet.number(height));
            }
        }
    }

    private void figures(String... lines) {
        double at = y - 6.0 * (lines.length - 1);
        for (String line : lines) {
            sheet.text("small", Sheet.WIDTH - RIGHT + 12, at, "start", line);
            at += 14;
        }
    }

    private static int bins() {
        return (int) (Traffic.LENGTH.toMillis() / BIN_MILLIS) + 1;
    }

    private static int bin(Duration at) {
        return Math.min((int) (at.toMillis() / BIN_MILLIS), bins() - 1);
    }

    private static double x(double millis) {
        return LEFT + millis / Traffic.LENGTH.toMillis() * (Sheet.WIDTH - LEFT - RIGHT);
    }
}
