package io.github.reactorratelimit.examples.replay;

import java.awt.BasicStroke;
import java.awt.Color;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Date;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.VectorGraphicsEncoder;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.style.Styler;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** A report as a picture: what came, and what each policy would have let through, over time. */
final class Plot {

    private static final int WIDTH = 1000;
    private static final int HEIGHT = 460;
    private static final Color ARRIVALS = new Color(0xd9, 0xd4, 0xc7);
    private static final List<Color> POLICIES = List.of(
            new Color(0x0f, 0x76, 0x6e),
            new Color(0xb4, 0x53, 0x09),
            new Color(0x43, 0x38, 0xca),
            new Color(0xbe, 0x12, 0x3c),
            new Color(0x4d, 0x7c, 0x0f),
            new Color(0x6b, 0x21, 0xa8));

    private Plot() {}

    /** Writes an SVG or a PNG, as the file's name says. */
    static void write(ReplayReport report, Path file) throws IOException {
        String name = file.getFileName().toString().toLowerCase(Locale.ROOT);
        if (name.endsWith(".png")) {
            BitmapEncoder.saveBitmap(chart(report), file.toString(), BitmapEncoder.BitmapFormat.PNG);
        } else {
            VectorGraphicsEncoder.saveVectorGraphic(
                    chart(report), file.toString(), VectorGraphicsEncoder.VectorGraphicsFormat.SVG);
        }
    }

    /** Whether a file's name tells in which form it is to be written. */
    static boolean canWrite(Path file) {
        String name = file.toString().toLowerCase(Locale.ROOT);
        return name.endsWith(".png") || name.endsWith(".svg");
    }

    private static XYChart chart(ReplayReport report) {
        XYChart chart = new XYChartBuilder()
                .width(WIDTH)
                .height(HEIGHT)
                .title("Requests let through")
                .yAxisTitle("requests per second")
                .build();
        chart.getStyler()
                .setLegendPosition(Styler.LegendPosition.OutsideS)
                .setLegendLayout(Styler.LegendLayout.Horizontal)
                .setChartBackgroundColor(Color.WHITE)
                .setPlotBorderVisible(false)
                .setLegendBorderColor(Color.WHITE);
        chart.getStyler().setYAxisMin(0.0).setDatePattern(datePattern(report)).setLocale(Locale.ROOT);
        addArrivals(chart, report);
        for (int i = 0; i < report.outcomes().size(); i++) {
            addPolicy(chart, report, i);
        }
        return chart;
    }

    private static void addArrivals(XYChart chart, ReplayReport report) {
        var arrivals = chart.addSeries(
                "arrived", times(report, report.arrivals().size()), perSecond(report.arrivals(), report.bucket()));
        arrivals.setXYSeriesRenderStyle(XYSeries.XYSeriesRenderStyle.StepArea);
        arrivals.setMarker(SeriesMarkers.NONE).setLineColor(ARRIVALS).setFillColor(ARRIVALS);
    }

    private static void addPolicy(XYChart chart, ReplayReport report, int i) {
        ReplayReport.Outcome outcome = report.outcomes().get(i);
        var departures = chart.addSeries(
                outcome.policy(),
                times(report, outcome.departures().size()),
                perSecond(outcome.departures(), report.bucket()));
        departures.setXYSeriesRenderStyle(XYSeries.XYSeriesRenderStyle.Step);
        departures.setMarker(SeriesMarkers.NONE).setLineColor(POLICIES.get(i % POLICIES.size()));
        departures.setLineStyle(new BasicStroke(1.4f));
    }

    private static List<Date> times(ReplayReport report, int buckets) {
        return IntStream.range(0, buckets)
                .mapToObj(i -> Date.from(report.from().plus(report.bucket().multipliedBy(i))))
                .toList();
    }

    private static List<Double> perSecond(List<Long> counts, Duration bucket) {
        double seconds = bucket.toMillis() / 1_000.0;
        return counts.stream().map(count -> count / seconds).toList();
    }

    private static String datePattern(ReplayReport report) {
        boolean days = Duration.between(report.from(), report.to()).toDays() >= 2;
        return days ? "d MMM HH:mm" : "HH:mm:ss";
    }
}
