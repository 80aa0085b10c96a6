// Lists of numbers in arguments, and the capture of an interface.
#pragma once

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"

#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

inline const uint32_t PPP_BYTES = 2;

inline std::vector<std::string>
Split(const std::string& text, char mark)
{
    std::vector<std::string> parts;
    std::stringstream stream(text);
    for (std::string part; std::getline(stream, part, mark);)
    {
        parts.push_back(part);
    }
    return parts;
}

// "1.5:20,4:5" is {1.5, 20}, {4, 5}.
inline std::vector<std::vector<double>>
Rows(const std::string& text)
{
    std::vector<std::vector<double>> rows;
    for (const std::string& part : Split(text, ','))
    {
        std::vector<double> row;
        for (const std::string& number : Split(part, ':'))
        {
            row.push_back(std::stod(number));
        }
        rows.push_back(row);
    }
    return rows;
}

inline Ipv4Address
SourceOf(Ptr<const Packet> packet)
{
    uint8_t bytes[PPP_BYTES + 20];
    if (packet->CopyData(bytes, sizeof(bytes)) < sizeof(bytes))
    {
        return Ipv4Address::GetAny();
    }
    return Ipv4Address::Deserialize(bytes + PPP_BYTES + 12);
}

// The first bytes of each packet of an interface.
class Tap
{
  public:
    Tap(const std::string& file, Ptr<NetDevice> device, bool isRaw, uint32_t snap)
        : m_isRaw(isRaw)
    {
        m_file.Open(file, std::ios::out);
        m_file.Init(isRaw ? 101 : 9, snap, 0, false, true);
        device->TraceConnectWithoutContext("PromiscSniffer", MakeCallback(&Tap::Write, this));
    }

    void Close()
    {
        m_file.Close();
    }

  private:
    void Write(Ptr<const Packet> packet)
    {
        Ptr<Packet> copy = packet->Copy();
        if (m_isRaw)
        {
            copy->RemoveAtStart(PPP_BYTES);
        }
        int64_t now = Simulator::Now().GetNanoSeconds();
        m_file.Write(now / 1000000000, now % 1000000000, copy);
    }

    PcapFile m_file;
    bool m_isRaw;
};
