import java.io.File;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.TreeMap;
import org.HdrHistogram.EncodableHistogram;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogProcessor;
import org.HdrHistogram.HistogramLogReader;

/**
 * Reads histograms as HdrHistogram's own tools do.
 *
 * Arguments: a log, and an encoded histogram in microseconds. It prints a line for each tag of the log: its name, the
 * start of the log in ms, the intervals, the count, and p50, p99 and the maximum in ns. Then comes the percentile
 * distribution of the histogram in ms, and after a line "processed" that of the log by HistogramLogProcessor.
 */
public class ReadHistograms {
    public static void main(String[] args) throws Exception {
        TreeMap<String, Histogram> sums = new TreeMap<>();
        TreeMap<String, Integer> intervals = new TreeMap<>();
        HistogramLogReader log = new HistogramLogReader(new File(args[0]));
        for (EncodableHistogram one; (one = log.nextIntervalHistogram()) != null; ) {
            String tag = one.getTag() == null ? "-" : one.getTag();
            sums.computeIfAbsent(tag, k -> new Histogram(3)).add((Histogram) one);
            intervals.merge(tag, 1, Integer::sum);
        }
        sums.forEach((tag, h) -> System.out.printf("%s %.0f %d %d %d %d %d%n", tag, log.getStartTimeSec() * 1000, intervals.get(tag),
            h.getTotalCount(), h.getValueAtPercentile(50), h.getValueAtPercentile(99), h.getMaxValue()));
        Histogram whole = Histogram.decodeFromCompressedByteBuffer(ByteBuffer.wrap(Base64.getDecoder().decode(args[1])), 0);
        whole.outputPercentileDistribution(System.out, 5, 1000.0);
        System.out.println("processed");
        System.out.flush();
        HistogramLogProcessor.main(new String[] {"-i", args[0]});
    }
}
